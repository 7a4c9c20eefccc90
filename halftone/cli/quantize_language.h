// SPDX-License-Identifier: Apache-2.0
// The part of the verb quantize that is about language models.
#pragma once

#include <CLI/App.hpp>
#include <string>
#include <vector>

#include "halftone/api/language_quantization.h"
#include "halftone/cli/command.h"

namespace halftone::cli {

struct LanguageQuantizeOptions {
  LanguageQuantizeJob job;
  std::string tokenizer;
  std::vector<std::string> rules;  ///< PATTERN=TYPE
};

/// Adds --text and the options that need it.
/// @return  --text
CLI::Option* add_language_quantize_options(CLI::App& verb, LanguageQuantizeOptions& options);

/// @param recipe  a file, or empty
void run_language_quantize(const CommonOptions& common, const LanguageQuantizeOptions& options,
                           const std::string& recipe, const Machine& machine);

}  // namespace halftone::cli
