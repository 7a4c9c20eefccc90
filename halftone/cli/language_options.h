// SPDX-License-Identifier: Apache-2.0
// Options of the verbs that run language models.
#pragma once

#include <CLI/App.hpp>
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/language_model.h"
#include "halftone/cli/command.h"
#include "halftone/compress/fit/metric.h"
#include "halftone/lm/generate/generate.h"
#include "halftone/lm/quantize/samples.h"

namespace halftone::cli {

struct LanguageOptions {
  std::string model;
  std::string tokenizer;
  LanguageModelOptions open;  ///< but for the tokenizer

  [[nodiscard]] LanguageModelOptions open_options() const {
    LanguageModelOptions options = open;
    options.tokenizer = tokenizer;
    return options;
  }
};

/// The help of a model's argument, and of --tokenizer.
inline constexpr const char* kLanguageModelText =
    "GGUF file, folder of Hugging Face, or a .bin file of llama2.c";

/// Adds --tokenizer.
void add_tokenizer_option(CLI::App& verb, std::string& tokenizer);
/// Adds --lora.
/// @return  the option
CLI::Option* add_lora_option(CLI::App& verb, std::filesystem::path& lora);
/// Adds --cache.
/// @return  the option
CLI::Option* add_cache_option(CLI::App& verb, ir::CacheNumbers& cache);
/// Adds --device.
/// @return  the option
CLI::Option* add_device_option(CLI::App& verb, std::string& device);
/// Adds the model, --tokenizer, --context, --cache, --lora, --device and --float-activations.
void add_language_options(CLI::App& verb, LanguageOptions& options);
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
/// Adds --samples, --held-out, --sample-tokens and --damping.
void add_sample_options(CLI::App& verb, lm::SampleOptions& samples, compress::Damping& damping);
/// Adds --no-rotation.
void add_rotation_option(CLI::App& verb, bool& rotates);

/// Writes text to standard output as it comes, until Ctrl-C. On a terminal, control characters but
/// tabs and line feeds are shown as \xHH: what a model writes must not move the cursor.
/// @param quiet  writes nothing
/// @return       for what generates
std::function<bool(lm::TokenId, std::string_view)> token_output(bool quiet);

}  // namespace halftone::cli
