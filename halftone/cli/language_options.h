// SPDX-License-Identifier: Apache-2.0
// Options of the verbs that run language models.
#pragma once

#include <CLI/App.hpp>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/language_model.h"
#include "halftone/base/fields/fields.h"
#include "halftone/cli/command.h"
#include "halftone/lm/generate/generate.h"

namespace halftone::cli {

struct LanguageOptions {
  std::string model;
  OpenOptions open;
};

/// The help of a model's argument.
inline constexpr const char* kLanguageModelText =
    "GGUF file, folder of Hugging Face, or a .bin file of llama2.c";

/// Adds some fields of how a model is opened, as all verbs have them.
/// @return  their options
std::vector<CLI::Option*> add_open_fields(CLI::App& verb, OpenOptions& open,
                                          std::initializer_list<std::string_view> names);
/// Writes the device that `--device auto` chose to standard error, unless it is to be quiet.
/// @return  OpenOptions::on_device; the arguments must outlive it
std::function<void(const std::string&)> device_output(const CommonOptions& common,
                                                      const Machine& machine);
/// Runs a model with the other ranks if this is not the first one, until that one ends.
/// @param open  as the first rank opens it
/// @return      false on the first rank, which does the work of the verb
bool follows(const std::filesystem::path& model, OpenOptions open, const CommonOptions& common,
             const Machine& machine);
/// Adds the options of a verb that writes texts: those below, --draft and --device.
void add_language_options(CLI::App& verb, LanguageOptions& options);
/// The lines of a text file, without a byte order mark and the carriage returns of Windows.
/// @throws Error kIo
std::vector<std::string> lines_of(const std::string& file);
/// Adds the model, --tokenizer, --context, --cache, --lora, --bits and --float-activations.
void add_text_model_options(CLI::App& verb, LanguageOptions& options);
/// Adds -n, the options of sampling and --stop.
void add_generate_options(CLI::App& verb, v0::GenerateOptions& options);

/// The heading of options of language models that are fitted or measured, and what they need.
inline constexpr const char* kCalibrationGroup =
    "Language models, with --text or --calibrate synthetic";
inline constexpr const char* kCalibrationWays = "--text or --calibrate synthetic";

/// Where the samples of a language model come from.
struct CalibrationOptions {
  CLI::Option* text = nullptr;
  CLI::Option* synthetic = nullptr;
};

/// Adds --text and --calibrate.
/// @param use  of the samples, for the help: "fit a language model to"
CalibrationOptions add_calibration_options(CLI::App& verb,
                                           std::vector<std::filesystem::path>& texts,
                                           bool& is_synthetic, const std::string& use);
/// Adds options of the samples and of the fit: fields of LanguageFitOptions, or of what has more.
/// @param without  fields that other options set
void add_fit_fields(CLI::App& verb, const Fields& fields,
                    std::initializer_list<std::string_view> without);

/// Writes text to standard output as it comes, until Ctrl-C. On a terminal, control characters but
/// tabs and line feeds are shown as \xHH: what a model writes must not move the cursor.
/// @param quiet  writes nothing
/// @return       for what generates
std::function<bool(lm::TokenId, std::string_view)> token_output(bool quiet);

}  // namespace halftone::cli
