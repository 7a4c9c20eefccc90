// SPDX-License-Identifier: Apache-2.0
// What each matrix of a language model loses in each type.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/compress/fit/metric.h"
#include "halftone/lm/quantize/samples.h"
#include "halftone/types/language_quantize.hpp"

namespace halftone {

/// A language model to measure. Fields that LanguageQuantizeJob has too mean the same.
struct LanguageSensitivityJob {
  std::filesystem::path input;
  std::filesystem::path tokenizer{};
  std::vector<std::filesystem::path> texts{};
  bool is_synthetic = false;
  /// Keeps what was measured after each block: lm::QuantizeStateFile; empty: nothing.
  std::filesystem::path state{};
  /// Types such as "Q4_K" or "2x6"; empty: those that quantize chooses from for a size, of GGUF for
  /// a GGUF file and Halftone's own for others.
  std::vector<std::string> choices{};
  std::size_t sensitivity_samples = 8;
  lm::SampleOptions samples{};
  compress::Damping damping{};
  bool rotates = true;  ///< if a choice is a vector basis
  std::uint64_t seed = 0;
  int threads = 0;
  ProgressSink progress{};
};

using v0::LanguageSensitivity;
using v0::MatrixSensitivity;
using v0::SensitiveMatrix;
using v0::TypeSensitivity;

/// Fits each matrix quickly to each type, and predicts what that alone does to the predictions:
/// lm::measure_type_costs().
/// @throws Error as quantize_language_model(); kUsage for a type that comes twice
LanguageSensitivity language_sensitivity(const LanguageSensitivityJob& job);

}  // namespace halftone
