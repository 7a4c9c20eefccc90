// SPDX-License-Identifier: Apache-2.0
// Predicts how fast several processes write a text together.
#pragma once

#include <vector>

#include "halftone/lm/generate/token_model.h"
#include "halftone/types/language_speed.hpp"

namespace halftone {

/// @throws Error kUsage unless each link has a latency
void check_links(const v0::LanguageSpeedOptions& options);

/// Speeds for all ranks and links, from the steps of the model, which overwrite sequence 0. A rank
/// takes its part of each step, and waits for all others behind each exchange.
/// @throws Error kUsage as check_links(); kUnsupported if the model does not know its steps
std::vector<v0::SpeedOnRanks> predict_ranks(lm::TokenModel& model,
                                            const v0::LanguageSpeedOptions& options);

}  // namespace halftone
