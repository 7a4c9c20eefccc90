// SPDX-License-Identifier: Apache-2.0
#include "halftone/cli/budget_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "halftone/accel/accelerator.h"
#include "halftone/api/estimate.h"
#include "halftone/api/option_fields.h"
#include "halftone/api/run_costs.h"
#include "halftone/base/error.h"
#include "halftone/cli/field_options.h"
#include "halftone/cli/given_options.h"

namespace halftone::cli {

void add_choice_options(CLI::App& verb, ChoiceOptions& options) {
  add_fields(verb, choice_fields(options.choices, options.loss));
  verb.get_option("--choices")->type_name("CHOICES");
  verb.add_option("--accelerator", options.accelerator,
                  "Estimate time and energy on this hardware instead of measuring time here")
      ->check(read_path("HARDWARE"));
  add_test_options(verb, options.test, "those of --data");
}

void add_budget_options(CLI::App& verb, BudgetArguments& options) {
  options.option =
      verb.add_option("--budget", options.limits,
                      "Choose the bits of each layer within limits: one or two of bytes=60k, "
                      "us=200, loss=0.5, pj=1e6 and instructions=2M, with a comma between; "
                      "flash=30k in place of bytes= and ram=16k beside it: these and "
                      "instructions of the network as C; of a language model "
                      "the types by bytes= or loss=, the predicted divergence in nats per token")
          ->delimiter(',')
          ->type_name("LIMITS");
  const std::size_t before = verb.get_options().size();
  add_choice_options(verb, options.choices);
  add_field(verb, tries_field(options.tries));
  add_fields(verb, firmware_fields(options.core, options.instruction_pj));
  verb.get_option("--core")->type_name("CORE");
  verb.get_option("--instruction-pj")->excludes(verb.get_option("--accelerator"));
  options.others = options_from(verb, before);
  options.option->group("Budgets");
  for (CLI::Option* option : options.others) option->needs(options.option)->group("Budgets");
}

NamedLimits limits_of(const BudgetArguments& options) {
  NamedLimits named = limits_named(options.limits);
  const auto is_given = [&](const char* name) {
    return std::ranges::any_of(options.others, [&](const CLI::Option* each) {
      return each->get_name() == name && !each->empty();
    });
  };
  if (is_given("--instruction-pj") && !named.budget[compress::Measure::kEnergy]) {
    fail(ErrorKind::kUsage, "--instruction-pj: only with --budget pj=");
  }
  named.firmware.core = options.core;
  named.firmware.instruction_pj = options.instruction_pj;
  if (is_given("--core") && !named.firmware.any()) {
    fail(ErrorKind::kUsage,
         "--core: only with --budget flash=, ram= or instructions=, or with --instruction-pj");
  }
  return named;
}

SensitivitySettings sensitivity_settings(const ChoiceOptions& options,
                                         const compress::Recipe& recipe) {
  SensitivitySettings settings;
  settings.recipe = recipe;
  if (!options.choices.empty()) settings.choices = compress::choices_named(options.choices);
  if (!options.loss.empty()) settings.options.loss = compress::loss_named(options.loss);
  return settings;
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
