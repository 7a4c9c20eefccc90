// SPDX-License-Identifier: Apache-2.0
// One scale of colours for what layers lose, on all parts of a page.
#pragma once

#include <optional>
#include <string>

#include "halftone/api/model_report.h"

namespace halftone::report::page {

/// Steps of colour: 0 is little, kNumHeats - 1 is much. The CSS classes are c0, c1, ...
inline constexpr int kNumHeats = 6;

/// The step of a loss: below 0.001, 0.003, 0.01, 0.03, 0.1, or above.
/// @param loss  in nats, or a noise relative to its signal
int heat_of_loss(double loss);

/// The step of a layer: by its loss, else by the noise of its output alone. Nothing if neither was
/// measured.
std::optional<int> heat_of(const LayerFigures& layer);

/// The step of a share of the largest value: of bytes and times.
int heat_of_share(double share);

/// A line that explains the colours, as HTML.
/// @param words  what they show
std::string heat_legend(const std::string& words);

}  // namespace halftone::report::page
