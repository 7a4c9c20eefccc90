// SPDX-License-Identifier: Apache-2.0
// Tunes quantized language models against their float models. Link halftone::api_training, which
// needs libtorch, for the function; the structs work without it.
#pragma once

#include <filesystem>
#include <functional>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/train/options/tune_options.h"
#include "halftone/types/language_distill.hpp"

namespace halftone {

/// A quantized language model to tune and the file to write.
struct LanguageDistillJob : v0::LanguageDistillOptions {
  std::filesystem::path teacher{};  ///< GGUF file, folder of Hugging Face, or a file of llama2.c
  std::filesystem::path student{};  ///< NAME.gguf, or Halftone's own file NAME.safetensors
  std::filesystem::path output{};   ///< of the same extension
  std::vector<std::filesystem::path> texts{};  ///< in UTF-8, from which the student learns
  int threads = 0;                             ///< 0: those of the process
  std::function<void()> on_start = nullptr;    ///< called once all was read and checked
  /// Called after each step and evaluation.
  std::function<void(const train::TuneHistory& history)> record = nullptr;
  std::function<bool()> stop_requested = nullptr;  ///< whether to stop; called once in each step
  ProgressSink sink = nullptr;                     ///< in place of `progress`
};

struct TuneReport : v0::LanguageDistillReport {
  bool is_interrupted = false;  ///< no file was written; a checkpoint can resume the run
};

/// Tunes scales, gains, biases and vector bases of a model to the predictions of its float model;
/// codes, types, keys and the order of tensors stay as they are. Of K types of GGUF these are the
/// float16 factors of the scales and offsets; gains and biases are those in float32. The file is
/// the best state on the held-out samples, the student's own if none is better.
/// @throws Error as lm::open_model(), lm::read_model_texts(), lm::choose_samples(), train::tune();
///         kUsage for other files, an output with another extension, or models that do not belong
///         together; kUnsupported for a student whose matrices have no scales; kIo if a file cannot
///         be read or written
TuneReport distill_language_model(const LanguageDistillJob& job);

}  // namespace halftone
