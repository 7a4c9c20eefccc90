// SPDX-License-Identifier: Apache-2.0
// Splits samples into a training and a validation set.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace halftone::train {

struct Split {
  std::vector<std::size_t> training;    ///< increasing
  std::vector<std::size_t> validation;  ///< validation set, increasing
};

/// Moves floor(share * samples) of the samples 0, 1, ... to the validation set, chosen at random.
/// @throws Error kUsage unless 0 <= share < 1
Split split_samples(std::size_t samples, double share, std::uint64_t seed);

}  // namespace halftone::train
