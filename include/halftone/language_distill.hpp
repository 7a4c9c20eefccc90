// SPDX-License-Identifier: Apache-2.0
// Tunes quantized language models to their float models. Link Halftone::train.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>

#include "halftone/export.hpp"
#include "halftone/options.hpp"
#include "halftone/types/language_distill.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// Tunes scales, offsets, gains, biases and vector bases of a quantized language model to the
  /// predictions of its float model; codes stay as they are. The file is the best state on the
  /// held-out samples, and that of `halftone distill --text`: the same bytes for any number of
  /// threads.
  /// @param teacher  the float model: as for quantize_language_model()
  /// @param student  NAME.gguf or NAME.safetensors, made from the teacher
  /// @param texts    files in UTF-8, such as the model will read
  /// @param output   of the extension of the student
  /// @throws Error kUsage for an option out of range, other files, models that do not belong
  ///         together, a text that is too short or the state of another run; kUnsupported for a
  ///         student without scales, or if numbers become infinite; kIo, kFormat, kShape, kMemory
  ///         as LanguageModel::open(); kInterrupted, after which the state is kept. No file is
  ///         written then
  HALFTONE_CPP_API LanguageDistillReport distill_language_model(
      const std::filesystem::path& teacher, const std::filesystem::path& student,
      std::span<const std::filesystem::path> texts, const std::filesystem::path& output,
      const LanguageDistillOptions& options = {});

}  // namespace v0
}  // namespace halftone
