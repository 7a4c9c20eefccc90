// SPDX-License-Identifier: Apache-2.0
// The part of the verb quantize that is about language models.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "halftone/api/language_quantization.h"
#include "halftone/cli/command.h"

namespace halftone::cli {

struct LanguageQuantizeArguments {
  LanguageQuantizeJob job;
  std::vector<std::string> rules;  ///< PATTERN=TYPE
  CLI::Option* text = nullptr;
  CLI::Option* calibrate = nullptr;
  std::vector<CLI::Option*> others;  ///< that need one of the two
};

/// Adds --text, --calibrate and the options that need one of them.
void add_language_quantize_options(CLI::App& verb, LanguageQuantizeArguments& options);

/// Whether the options are about a language model. With a budget, other networks have some of them.
/// @throws CLI::Error if they are about none, and there are no data either
bool is_language_job(const LanguageQuantizeArguments& options, bool has_data, bool has_budget);

/// @throws Error kUsage if the recipe or the options beside it have settings of other networks
void run_language_quantize(const CommonOptions& common, const LanguageQuantizeArguments& options,
                           const RecipeOptions& recipe, const Machine& machine);

}  // namespace halftone::cli
