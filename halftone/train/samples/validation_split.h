// SPDX-License-Identifier: Apache-2.0
// Which samples are trained on, and which only tell how well it goes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace halftone::train {

struct Split {
  std::vector<std::size_t> training;  ///< rising
  std::vector<std::size_t> held_out;  ///< rising
};

/// Holds floor(share * samples) of the samples 0, 1, ... out, chosen at random.
/// @throws Error kUsage unless 0 <= share < 1
Split split_samples(std::size_t samples, double share, std::uint64_t seed);

}  // namespace halftone::train
