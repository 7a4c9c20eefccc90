// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/quantize.h"

#include <CLI/CLI.hpp>
#include <iostream>
#include <optional>

#include "halftone/api/presets.h"
#include "halftone/api/sensitivity.h"
#include "halftone/base/printable.h"
#include "halftone/cli/budget_options.h"
#include "halftone/cli/command.h"
#include "halftone/cli/given_options.h"
#include "halftone/cli/one_of.h"
#include "halftone/cli/print_report.h"
#include "halftone/cli/quantize_language.h"
#include "halftone/report/sensitivity.h"

namespace halftone::cli {
namespace {

struct QuantizeOptions {
  CommonOptions common;
  DataArguments data;
  std::string input;
  std::string output;
  ModelOptions model;
  RecipeOptions recipe;
  std::optional<std::uint64_t> memory_bytes;  ///< for values of the samples
  bool full_integer = false;
  formats::ExportOptions form;
  LanguageQuantizeArguments language;
  BudgetArguments budget;
  std::vector<CLI::Option*> networks_only;  ///< that language models do not have
  std::string preset;                       ///< of presets(); empty: none
};

void run_within_budget(const QuantizeOptions& options, const Machine& machine) {
  apply(options.common);
  const BudgetReport result = [&] {
    Progress progress(options.common, machine);
    BudgetJob job;
    job.input = options.input;
    job.output = options.output;
    job.data = options.data.source;
    job.evaluation = options.budget.choices.test.source(options.data.source);
    job.import = options.model.parse();
    job.recipe_output = options.language.job.recipe_output;
    BudgetSettings& settings = job.settings;
    const NamedLimits limits = limits_of(options.budget);
    settings.budget = limits.budget;
    settings.firmware = limits.firmware;
    settings.tries = options.budget.tries;
    settings.form = options.form;
    settings.sensitivity =
        sensitivity_settings(options.budget.choices, make_recipe(options.recipe));
    settings.sensitivity.state = options.language.job.state;
    settings.sensitivity.options.fit = {options.common.seed, progress.sink(),
                                        machine.devices(options.data.devices),
                                        options.memory_bytes};
    add_costs(settings.sensitivity.options, options.budget.choices, needs_time(settings.budget));
    BudgetReport report = quantize_file_within(job);
    progress.print_warnings(report.quantized.warnings);
    return report;
  }();
  if (machine.is_first()) print_report(options.common, result);
}

void run(const QuantizeOptions& options, const Machine& machine) {
  apply(options.common);
  const QuantizeReport result = [&] {
    Progress progress(options.common, machine);
    QuantizeReport report =
        quantize_file({options.input,
                       options.output,
                       options.data.source,
                       make_recipe(options.recipe),
                       {options.common.seed, progress.sink(), machine.devices(options.data.devices),
                        options.memory_bytes},
                       options.model.parse(),
                       options.full_integer,
                       options.form});
    progress.print_warnings(report.warnings);
    return report;
  }();
  if (machine.is_first()) print_report(options.common, result);
}

void add_network_options(CLI::App& verb, QuantizeOptions& options) {
  verb.add_option("model", options.input,
                  "ONNX, TFLite or circle file; or a language model: a GGUF file, a folder of "
                  "Hugging Face or a .bin file of llama2.c")
      ->required()
      ->check(read_path());
  verb.add_option(
          "-o,--output", options.output,
          "File to write: .circle, .tflite or .onnx; of a language model .gguf or .safetensors")
      ->required()
      ->check(written_path());
  add_recipe_options(verb, options.recipe);
  const std::size_t before = verb.get_options().size();
  add_model_options(verb, options.model);
  add_data_options(verb, options.data, "train");
  add_memory_option(verb, options.memory_bytes);
  verb.add_flag("--full-integer", options.full_integer,
                "8-bit integers in the whole network, in operators that other runtimes have");
  add_form_options(verb, options.form);
  options.networks_only = options_from(verb, before);
}

/// @throws CLI::Error if an option has no effect on language models
void check_language_options(const QuantizeOptions& options) {
  for (const std::vector<CLI::Option*>& group : {options.networks_only, options.budget.others}) {
    std::vector<CLI::Option*> others = group;
    std::erase_if(others, [](const auto* each) { return each->get_name() == "--choices"; });
    refuse_given(others, kNetworkOnly);
  }
}

/// A budget chooses what these options say.
void add_budget(CLI::App& verb, BudgetArguments& options) {
  add_budget_options(verb, options);
  for (const char* name : {"--weight-bits", "--activation-bits", "--scheme", "--weight-scheme",
                           "--activation-scheme", "--type", "--full-integer"}) {
    options.option->excludes(verb.get_option(name));
  }
}

void add_preset(CLI::App& verb, QuantizeOptions& options) {
  std::vector<std::string> names;
  for (const PresetSettings& each : presets()) names.push_back(each.name);
  CLI::Option* preset =
      verb.add_option("--preset", options.preset,
                      "Settings by one word: int8 (weights and inputs as 8-bit integers), w4a8 "
                      "(weights of 4 bits, inputs of 8), smallest or fastest (as --budget "
                      "loss=0.01, with the fewest bytes or the least time here)")
          ->check(OneOf(names));
  options.networks_only.push_back(preset);
  for (const char* name :
       {"--weight-bits", "--activation-bits", "--scheme", "--weight-scheme", "--activation-scheme",
        "--type", "--arithmetic", "--full-integer", "--budget"}) {
    preset->excludes(verb.get_option(name));
  }
}

/// Does what the preset says, if there is one.
void apply_preset(QuantizeOptions& options) {
  if (options.preset.empty()) return;
  const PresetSettings preset = preset_named(options.preset);
  v0::LayerSettings& layers = options.recipe.settings.layers;
  const std::optional<std::string> calibrator = layers.calibrator;
  layers = preset.settings.layers;
  layers.calibrator = calibrator;
  options.budget.limits = preset.limits;
}

/// Of a language model, a budget of bytes is a size, one of a loss is a predicted divergence.
/// @throws CLI::Error if the budget is another one, or beside another way to choose types
void set_limit(const CLI::App& verb, QuantizeOptions& options) {
  const BudgetArguments& budget = options.budget;
  if (budget.option->empty()) return;
  for (const char* name : {"--size", "--bits-per-weight", "--table-type", "--tensor"}) {
    if (!verb.get_option(name)->empty()) throw CLI::ExcludesError("--budget", name);
  }
  const compress::Budget limits = budget_named(budget.limits);
  const std::optional<double>& bytes = limits[compress::Measure::kBytes];
  options.language.job.max_loss = limits[compress::Measure::kLoss];
  if ((!bytes && !options.language.job.max_loss) || budget.limits.size() != 1) {
    throw CLI::ValidationError("--budget", "of a language model: expected bytes= or loss=");
  }
  if (bytes) options.language.job.size_bytes = static_cast<std::size_t>(*bytes);
  options.language.job.choices = budget.choices.choices;
}

}  // namespace

void add_quantize(CLI::App& app, Action& action) {
  const auto options = std::make_shared<QuantizeOptions>();
  CLI::App* verb =
      add_verb(app, "quantize", "Learn few-bit weights and activations from unlabelled samples",
               "halftone quantize model.onnx -o model.circle --data examples/mnist "
               "--weight-bits 2 --activation-bits 2\n"
               "halftone quantize model.gguf -o small.gguf --text text.txt --budget bytes=60M",
               options->common);
  add_network_options(*verb, *options);
  CLI::Option* data = verb->get_option("--data")->required(false);
  add_language_quantize_options(*verb, options->language);
  add_budget(*verb, options->budget);
  add_preset(*verb, *options);
  options->language.text->excludes(data);
  options->language.calibrate->excludes(data);
  verb->final_callback([options, &action, data, verb] {
    apply_preset(*options);
    const bool has_budget = !options->budget.limits.empty();
    const bool is_language = is_language_job(options->language, !data->empty(), has_budget);
    options->language.job.input = options->input;
    options->language.job.output = options->output;
    if (is_language) {
      check_language_options(*options);
      set_limit(*verb, *options);
    }
    action = [options, is_language, has_budget](const Machine& machine) {
      if (!is_language && has_budget) return run_within_budget(*options, machine);
      if (!is_language) return run(*options, machine);
      run_language_quantize(options->common, options->language, options->recipe, machine);
    };
  });
}

}  // namespace halftone::cli
