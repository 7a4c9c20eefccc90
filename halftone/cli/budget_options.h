// SPDX-License-Identifier: Apache-2.0
// Options of the verbs that measure what layers cost, and quantize within budgets.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "halftone/api/sensitivity.h"
#include "halftone/cli/command.h"

namespace halftone::cli {

/// What layers may get and how that is measured.
struct ChoiceOptions {
  std::vector<std::string> choices;  ///< empty: default_choices()
  std::string loss;                  ///< empty: compress::default_loss()
  std::string accelerator;           ///< for estimates in place of measured times; empty: none
  TestArguments test;
};

struct BudgetArguments {
  std::vector<std::string> limits;  ///< "bytes=60k"; empty: no budget
  ChoiceOptions choices;
  std::size_t tries = v0::kBudgetTries;
  std::string core = FirmwareLimits{}.core;
  std::optional<double> instruction_pj;
  CLI::Option* option = nullptr;
  std::vector<CLI::Option*> others;  ///< that need the budget
};

/// Adds --choices, --loss, --accelerator, --test-data and --test-limit.
void add_choice_options(CLI::App& verb, ChoiceOptions& options);
/// Adds these, --budget and --tries.
void add_budget_options(CLI::App& verb, BudgetArguments& options);

/// @throws Error as limits_named(); kUsage if an option has no effect on these limits
NamedLimits limits_of(const BudgetArguments& options);

/// @throws Error as compress::choices_named()
SensitivitySettings sensitivity_settings(const ChoiceOptions& options,
                                         const compress::Recipe& recipe);
/// Sets where time and energy come from: the accelerator if there is one, else, if time is wanted,
/// measurements on this machine.
/// @throws Error as accel::load_accelerator()
void add_costs(compress::MeasureSettings& sensitivity, const ChoiceOptions& options,
               bool time_is_wanted);

}  // namespace halftone::cli
