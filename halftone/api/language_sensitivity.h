// SPDX-License-Identifier: Apache-2.0
// What each matrix of a language model loses in each type.
#pragma once

#include <cstddef>
#include <filesystem>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/types/language_quantize.hpp"
#include "halftone/types/sensitivity.hpp"

namespace halftone {

/// A language model to measure.
struct LanguageSensitivityJob : v0::LanguageSensitivityOptions {
  std::filesystem::path input{};
  std::vector<std::filesystem::path> texts{};
  int threads = 0;      ///< 0: those of the process
  ProgressSink sink{};  ///< in place of `progress`
};

/// Fits each matrix quickly to each type, and predicts what that alone does to the predictions:
/// lm::measure_type_costs(). Each matrix is a unit.
/// @throws Error as quantize_language_model(); kUsage for a type that comes twice
v0::Sensitivity language_sensitivity(const LanguageSensitivityJob& job);

}  // namespace halftone
