// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/sensitivity.h"

#include <CLI/CLI.hpp>
#include <iostream>

#include "halftone/base/printable.h"
#include "halftone/cli/budget_options.h"
#include "halftone/cli/command.h"
#include "halftone/cli/sensitivity_language.h"
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
  std::string state;
  bool no_time = false;
  LanguageSensitivityArguments language;
};

void run(const SensitivityVerbOptions& options, const Machine& machine) {
  apply(options.common);
  const compress::Sensitivity found = [&] {
    Progress progress(options.common, machine);
    SensitivityJob job;
    job.input = options.model;
    job.reference = options.reference;
    job.data = options.data.source;
    job.evaluation = evaluation_source(options.choices, options.data.source);
    job.import = options.model_options.parse();
    job.settings = sensitivity_settings(options.choices, load_recipe(options.recipe));
    job.settings.state = options.state;
    job.settings.options.batch = options.data.batch;
    job.settings.options.fit = {options.common.seed, progress.sink(),
                                machine.devices(options.data.devices), options.memory_bytes};
    add_costs(job.settings.options, options.choices, !options.no_time);
    compress::Sensitivity result = sensitivity_of_file(job);
    progress.print_warnings(result.warnings);
    return result;
  }();
  if (!machine.is_first()) return;
  std::cout << (options.common.json ? report::to_json(found) : printable(report::to_text(found)));
}

/// Adds the options of networks. @return those that language models do not have
std::vector<CLI::Option*> add_network_options(CLI::App& verb, SensitivityVerbOptions& options) {
  const std::size_t before = verb.get_options().size();
  add_model_options(verb, options.model_options);
  verb.add_option("--reference", options.reference,
                  "The float network that the model was made from: measure the layers as they are")
      ->check(read_path());
  add_data_options(verb, options.data, "train");
  verb.get_option("--data")->required(false);
  add_choice_options(verb, options.choices);
  verb.get_option("--choices")
      ->description(
          "What layers may get, with commas between: WEIGHTS[/INPUTS], each "
          "[SYSTEM:]BITS, as 2, 4/8, 3/none or symmetric:8; or float. Of a language model "
          "types, as Q4_K or 2x6 (default: those that --size chooses from)");
  verb.add_option("--recipe", options.recipe,
                  "TOML file that says how layers are fitted, and which have no choice")
      ->check(read_path());
  add_memory_option(verb, options.memory_bytes);
  verb.add_flag("--no-time", options.no_time, "Do not measure the time of layers");
  std::vector<CLI::Option*> added = verb.get_options();
  added.erase(added.begin(), added.begin() + static_cast<std::ptrdiff_t>(before));
  std::erase(added, verb.get_option("--choices"));
  return added;
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
  const std::vector<CLI::Option*> networks = add_network_options(*verb, *options);
  verb->add_option("--state", options->state,
                   "Keep what was measured in this file, and continue from it")
      ->check(written_path());
  add_language_sensitivity_options(*verb, options->language);
  verb->get_option("--reference")
      ->excludes(verb->get_option("--choices"))
      ->excludes(verb->get_option("--recipe"))
      ->excludes(verb->get_option("--state"));
  verb->final_callback([options, &action, verb, networks] {
    LanguageSensitivityArguments& language = options->language;
    const bool is_language =
        is_language_sensitivity(language, options->model, *verb->get_option("--data"), networks);
    language.job.input = options->model;
    language.job.state = options->state;
    if (!verb->get_option("--choices")->empty()) language.job.choices = options->choices.choices;
    action = [options, is_language](const Machine& machine) {
      is_language ? run_language_sensitivity(options->common, options->language, machine)
                  : run(*options, machine);
    };
  });
}

}  // namespace halftone::cli
