// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/sensitivity.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <iostream>

#include "halftone/api/language_model.h"
#include "halftone/api/language_sensitivity.h"
#include "halftone/api/option_fields.h"
#include "halftone/base/printable.h"
#include "halftone/cli/budget_options.h"
#include "halftone/cli/command.h"
#include "halftone/cli/field_options.h"
#include "halftone/cli/given_options.h"
#include "halftone/cli/language_options.h"
#include "halftone/report/sensitivity.h"

namespace halftone::cli {
namespace {

struct SensitivityVerbOptions {
  CommonOptions common;
  DataArguments data;
  std::string model;
  std::string reference;
  std::string recipe;
  ModelOptions model_options;
  ChoiceOptions choices;
  std::optional<std::uint64_t> memory_bytes;
  std::filesystem::path state;
  bool no_time = false;
  std::vector<CLI::Option*> networks_only;  ///< that language models do not have
  LanguageSensitivityJob language;          ///< without model, state and what all verbs have
  std::vector<CLI::Option*> calibration;    ///< of a language model: one of these is given
  std::vector<CLI::Option*> language_only;  ///< that need one of those
};

compress::Sensitivity of_network(const SensitivityVerbOptions& options, const Machine& machine,
                                 Progress& progress) {
  SensitivityJob job;
  job.input = options.model;
  job.reference = options.reference;
  job.data = options.data.source;
  job.evaluation = options.choices.test.source(options.data.source);
  job.import = options.model_options.parse();
  job.settings = sensitivity_settings(options.choices, load_recipe(options.recipe));
  job.settings.state = options.state;
  job.settings.options.batch = options.data.batch;
  job.settings.options.fit = {options.common.seed, progress.sink(),
                              machine.devices(options.data.devices), options.memory_bytes};
  add_costs(job.settings.options, options.choices, !options.no_time);
  return sensitivity_of_file(job);
}

compress::Sensitivity of_language_model(const SensitivityVerbOptions& options, Progress& progress) {
  LanguageSensitivityJob job = options.language;
  job.input = options.model;
  job.state = options.state;
  job.choices = options.choices.choices;
  job.seed = options.common.seed;
  job.sink = progress.sink();
  return language_sensitivity(job);
}

/// @param measure  of a Progress
template <typename Measure>
void run(const CommonOptions& common, const Machine& machine, const Measure& measure) {
  apply(common);
  const compress::Sensitivity found = [&] {
    Progress progress(common, machine);
    compress::Sensitivity result = measure(progress);
    progress.print_warnings(result.warnings);
    return result;
  }();
  if (!machine.is_first()) return;
  std::cout << (common.json ? report::to_json(found) : printable(report::to_text(found)));
}

void add_network_options(CLI::App& verb, SensitivityVerbOptions& options) {
  const std::size_t before = verb.get_options().size();
  add_model_options(verb, options.model_options);
  verb.add_option("--reference", options.reference,
                  "The float network that the model was made from: measure the layers as they are")
      ->check(read_path());
  add_data_options(verb, options.data, "train");
  verb.get_option("--data")->required(false);
  add_choice_options(verb, options.choices);
  verb.add_option("--recipe", options.recipe,
                  "TOML file that says how layers are fitted, and which have no choice")
      ->check(read_path());
  add_memory_option(verb, options.memory_bytes);
  verb.add_flag("--no-time", options.no_time, "Do not measure the time of layers");
  options.networks_only = options_from(verb, before);
  std::erase(options.networks_only, verb.get_option("--choices"));
}

void add_calibrated_options(CLI::App& verb, SensitivityVerbOptions& options) {
  LanguageSensitivityJob& job = options.language;
  const CalibrationOptions ways =
      add_calibration_options(verb, job.texts, job.synthetic, "measure a language model on");
  options.calibration = {ways.text, ways.synthetic};
  const std::size_t before = verb.get_options().size();
  add_fit_fields(verb, fields_of(static_cast<v0::LanguageFitOptions&>(job)), {"state", "choices"});
  options.language_only = options_from(verb, before);
  for (CLI::Option* option : options.calibration) option->group(kCalibrationGroup);
  for (CLI::Option* option : options.language_only) option->group(kCalibrationGroup);
}

/// Whether the verb is about a language model.
/// @throws CLI::Error if it is about none, and there are no data either, or for options of the
///         other kind
bool is_language(const SensitivityVerbOptions& options, const CLI::Option& data) {
  if (given_of(options.calibration) != nullptr) {
    refuse_given(options.networks_only, kNetworkOnly);
    return true;
  }
  if (const CLI::Option* other = given_of(options.language_only)) {
    throw CLI::RequiresError(other->get_name(), kCalibrationWays);
  }
  if (is_language_model(options.model)) {
    throw CLI::RequiredError(std::string(kCalibrationWays) + ", of a language model,");
  }
  if (data.empty()) {
    throw CLI::RequiredError(std::string("--data, or for a language model ") + kCalibrationWays);
  }
  return false;
}

}  // namespace

void add_sensitivity(CLI::App& app, Action& action) {
  const auto options = std::make_shared<SensitivityVerbOptions>();
  CLI::App* verb = add_verb(app, "sensitivity", "Measure which layers lose how much in few bits",
                            "halftone sensitivity model.onnx --data examples/mnist --limit 256 "
                            "--choices 2,3,4\n"
                            "halftone sensitivity model.gguf --text text.txt --choices Q2_K,Q4_K",
                            options->common);
  verb->add_option("model", options->model,
                   "ONNX, TFLite or circle file; or a language model: a GGUF file, a folder of "
                   "Hugging Face or a .bin file of llama2.c")
      ->required()
      ->check(read_path());
  add_network_options(*verb, *options);
  add_field(*verb, state_field(options->state))->check(written_path());
  add_calibrated_options(*verb, *options);
  verb->get_option("--reference")
      ->excludes(verb->get_option("--choices"))
      ->excludes(verb->get_option("--recipe"))
      ->excludes(verb->get_option("--state"));
  verb->final_callback([options, &action, verb] {
    if (!is_language(*options, *verb->get_option("--data"))) {
      action = [options](const Machine& machine) {
        run(options->common, machine,
            [&](Progress& progress) { return of_network(*options, machine, progress); });
      };
      return;
    }
    action = [options](const Machine& machine) {
      if (!machine.is_first()) return;
      run(options->common, machine,
          [&](Progress& progress) { return of_language_model(*options, progress); });
    };
  });
}

}  // namespace halftone::cli
