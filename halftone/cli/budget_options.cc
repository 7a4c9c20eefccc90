// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/budget_options.h"

#include <CLI/CLI.hpp>

#include "halftone/accel/accelerator.h"
#include "halftone/api/estimate.h"
#include "halftone/api/run_costs.h"
#include "halftone/cli/one_of.h"

namespace halftone::cli {

void add_choice_options(CLI::App& verb, ChoiceOptions& options) {
  verb.add_option("--choices", options.choices,
                  "What layers may get, with commas between: WEIGHTS[/INPUTS], each "
                  "[SYSTEM:]BITS, as 2, 4/8, 3/none or symmetric:8; or float")
      ->delimiter(',')
      ->type_name("CHOICES")
      ->default_str("1,2,3,4,5,6,8");
  verb.add_option("--loss", options.loss,
                  "Loss to measure: kl, error or labels (default: kl of classifiers, else error)")
      ->check(OneOf({"kl", "error", "labels"}));
  verb.add_option("--accelerator", options.accelerator,
                  "Estimate time and energy on this hardware instead of measuring time here")
      ->check(read_path("HARDWARE"));
  CLI::Option* test = verb.add_option("--test-data", options.test_data,
                                      "Samples on which losses are measured, as --data (default: "
                                      "those of --data)")
                          ->allow_extra_args(false)
                          ->check(read_path("SAMPLES"));
  verb.add_option("--test-limit", options.test_limit, "Use only so many of them, from the front")
      ->check(whole_from(1))
      ->needs(test);
}

void add_budget_options(CLI::App& verb, BudgetArguments& options) {
  options.option =
      verb.add_option("--budget", options.limits,
                      "Choose the bits of each layer within limits: one or two of bytes=60k, "
                      "us=200, loss=0.5 and pj=1e6, with a comma between; of a language model "
                      "the types by bytes= or loss=, the predicted divergence in nats per token")
          ->delimiter(',')
          ->type_name("LIMITS");
  const std::size_t before = verb.get_options().size();
  add_choice_options(verb, options.choices);
  verb.add_option("--tries", options.tries, "Networks to quantize, to meet a budget")
      ->check(CLI::Range(1, 100))
      ->capture_default_str();
  const std::vector<CLI::Option*> all = verb.get_options();
  options.others.assign(all.begin() + static_cast<std::ptrdiff_t>(before), all.end());
  options.option->group("Budgets");
  for (CLI::Option* option : options.others) option->needs(options.option)->group("Budgets");
}

SensitivitySettings sensitivity_settings(const ChoiceOptions& options,
                                         const compress::Recipe& recipe) {
  SensitivitySettings settings;
  settings.recipe = recipe;
  settings.choices = compress::choices_named(options.choices);
  if (!options.loss.empty()) settings.options.loss = compress::loss_named(options.loss);
  return settings;
}

std::optional<DataSource> evaluation_source(const ChoiceOptions& options, const DataSource& data) {
  if (options.test_data.empty()) return std::nullopt;
  DataSource source = data;
  source.paths = options.test_data;
  source.options.split = "test";
  source.options.limit = options.test_limit;
  return source;
}

void add_costs(compress::MeasureSettings& sensitivity, const ChoiceOptions& options,
               bool time_is_wanted) {
  if (!options.accelerator.empty()) {
    const accel::Accelerator hardware = accel::load_accelerator(options.accelerator);
    sensitivity.costs_name = hardware.name;
    sensitivity.costs = [hardware](const ir::Graph& network,
                                   const std::vector<std::string>& layers) {
      return estimated_costs(network, layers, hardware);
    };
  } else if (time_is_wanted) {
    measure_time(sensitivity);
  }
}

}  // namespace halftone::cli
