// SPDX-License-Identifier: Apache-2.0
// The part of the verb sensitivity that is about language models.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "halftone/api/language_sensitivity.h"
#include "halftone/cli/command.h"

namespace halftone::cli {

struct LanguageSensitivityArguments {
  LanguageSensitivityJob job;
  CLI::Option* text = nullptr;
  CLI::Option* calibrate = nullptr;
  std::vector<CLI::Option*> others;  ///< that need one of the two
};

/// Adds --text, --calibrate and the options that need one of them.
void add_language_sensitivity_options(CLI::App& verb, LanguageSensitivityArguments& options);

/// Whether the verb is about a language model.
/// @param networks  options that only networks have
/// @throws CLI::Error if it is about none, and there are no data either, or for options of the
///         other kind
bool is_language_sensitivity(const LanguageSensitivityArguments& options, const std::string& model,
                             const CLI::Option& data, const std::vector<CLI::Option*>& networks);

void run_language_sensitivity(const CommonOptions& common,
                              const LanguageSensitivityArguments& options, const Machine& machine);

}  // namespace halftone::cli
