// SPDX-License-Identifier: Apache-2.0
// The results of a run, epoch by epoch.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "halftone/types/train.hpp"

namespace halftone::train {

using v0::EpochResult;

/// The epoch with the highest validation accuracy, the first of equal ones; nothing if no epoch has
/// one.
std::optional<std::size_t> best_epoch(const std::vector<EpochResult>& epochs);

}  // namespace halftone::train
