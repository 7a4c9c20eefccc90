// SPDX-License-Identifier: Apache-2.0
// Quantizes language models.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/types/language_quantize.hpp"

namespace halftone {

/// A model to quantize and the file to write.
struct LanguageQuantizeJob : v0::LanguageQuantizeOptions {
  std::filesystem::path input{};  ///< GGUF file or folder of Hugging Face
  /// NAME.safetensors, or NAME.gguf but for a model of llama2.c; a new folder if the input is one
  /// and `decoded`. A GGUF file of a folder has what lm::new_gguf_keys() and
  /// lm::set_gguf_text_keys() say of it.
  std::filesystem::path output{};
  std::vector<std::filesystem::path> texts{};  ///< in UTF-8, to which the model is fitted
  int threads = 0;                             ///< 0: those of the process
  ProgressSink sink{};                         ///< in place of `progress`
};

using v0::LanguageQuantizeReport;
using v0::QuantizedMatrix;

/// What is cheap to check is checked before anything is computed: options, types, sizes, and
/// whether files can be written.
/// @throws Error as lm::open_model(), lm::choose_types(), lm::choose_within(),
///         lm::choose_samples(), lm::write_samples(), lm::fit_model(), lm::QuantizeStateFile,
///         lm::new_gguf_keys(), lm::set_gguf_text_keys(); kUsage for an output that cannot hold
///         the types, several ways to choose types, both texts and synthetic samples or neither;
///         kUnsupported for a budget that cannot be met; kIo if a file cannot be read or written
LanguageQuantizeReport quantize_language_model(const LanguageQuantizeJob& job);

}  // namespace halftone
