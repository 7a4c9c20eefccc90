// SPDX-License-Identifier: Apache-2.0
// Measures how fast a language model reads and writes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "halftone/api/language_model.h"
#include "halftone/base/progress.h"

namespace halftone {

struct LanguageSpeedOptions {
  std::size_t prompt = 512;            ///< tokens that are read at once; 0: none
  std::size_t generate = 128;          ///< tokens that are written one by one; 0: none
  std::vector<std::size_t> depths{0};  ///< tokens in front of them
  std::uint64_t seed = 0;              ///< of the tokens, which are random
  ProgressSink progress{};             ///< may be empty
};

/// The median of three runs.
struct SpeedAtDepth {
  std::size_t depth = 0;
  double prompt_tokens_per_second = 0;
  double tokens_per_second = 0;
  std::size_t bytes_per_token = 0;  ///< read for each token that is written; 0: not known
  double bandwidth_share = 0;       ///< of the memory's, which these bytes take; 0: not known
  double predicted_prompt_tokens_per_second = 0;  ///< of described hardware; 0: none was given
  double predicted_tokens_per_second = 0;
};

struct LanguageSpeed {
  int threads = 1;
  std::size_t prompt_tokens = 0;
  std::size_t generated_tokens = 0;
  double memory_bytes_per_second = 0;
  std::vector<SpeedAtDepth> depths;
  std::string accelerator{};  ///< that predictions are of; empty: there are none
};

/// @throws Error kUsage if there is nothing to measure, or the context is too short; before
///         anything is run
LanguageSpeed measure_language_speed(TextModel& model, const LanguageSpeedOptions& options = {});

/// The context that a measurement needs.
[[nodiscard]] std::size_t context_for(const LanguageSpeedOptions& options);

}  // namespace halftone
