// SPDX-License-Identifier: Apache-2.0
// Measures how fast a language model reads and writes.
#pragma once

#include <cstddef>

#include "halftone/api/language_model.h"
#include "halftone/base/progress.h"
#include "halftone/types/language_speed.hpp"

namespace halftone {

using v0::LanguageSpeed;
using v0::SpeedAtDepth;

struct LanguageSpeedSettings : v0::LanguageSpeedOptions {
  ProgressSink progress{};  ///< may be empty
};

/// @throws Error kUsage if there is nothing to measure, or the context is too short; before
///         anything is run; as predict_ranks()
LanguageSpeed measure_language_speed(TextModel& model, const LanguageSpeedSettings& options = {});

/// The context that a measurement needs.
[[nodiscard]] std::size_t context_for(const v0::LanguageSpeedOptions& options);

}  // namespace halftone
