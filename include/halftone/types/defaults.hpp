// SPDX-License-Identifier: Apache-2.0
// Defaults that several options share.
#pragma once

#include <cstddef>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  inline constexpr std::size_t kRunBatch = 64;     ///< samples per run
  inline constexpr double kMeasureSeconds = 0.5;   ///< time to measure, at least
  inline constexpr std::size_t kWorstSamples = 8;  ///< samples to list
  inline constexpr std::size_t kBudgetTries = 4;   ///< networks that a search within a budget fits

  // Of language models.
  inline constexpr std::size_t kTextWindow = 512;     ///< tokens of a window of a text
  inline constexpr std::size_t kSampleTokens = 512;   ///< tokens of a sample
  inline constexpr std::size_t kFitSamples = 64;      ///< samples to fit to
  inline constexpr std::size_t kHeldOutSamples = 16;  ///< samples to judge a fit by
  inline constexpr double kFitDamping = 0.05;  ///< share of each input's second moment, added to it
  inline constexpr int kFitCandidates = 8;     ///< scales to try for a group of weights
  inline constexpr int kFitSweeps = 2;         ///< passes that choose scales and codes anew

}  // namespace v0
}  // namespace halftone
