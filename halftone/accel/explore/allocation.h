// SPDX-License-Identifier: Apache-2.0
// The exact choice of one option for each layer, where costs and losses add up over layers.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace halftone::accel {

inline constexpr std::size_t kMaxCriteria = 3;
/// Costs and losses, each of which should be small. Unused ones are 0.
using Criteria = std::array<double, kMaxCriteria>;
inline constexpr Criteria kNoLimits = {std::numeric_limits<double>::infinity(),
                                       std::numeric_limits<double>::infinity(),
                                       std::numeric_limits<double>::infinity()};

struct AllocationProblem {
  std::vector<std::vector<Criteria>> layers;  ///< criteria of each option of each layer
  /// Layers with the same number take the same option; empty: no layers are tied.
  std::vector<std::size_t> ties{};
  Criteria limits = kNoLimits;  ///< of the sums, inclusive
};

struct Allocation {
  Criteria sums{};
  std::vector<std::uint16_t> options;  ///< of each layer
};

/// All allocations within the limits that no other one dominates, in ascending order of the
/// criteria. They are exact: layer by layer, sums that another sum dominates are dropped, since
/// each continuation of the one is also a continuation of the other. Sums are added in the order of
/// layers; of allocations with equal sums one remains, always the same.
/// Source: Nemhauser and Ullmann, Discrete dynamic programming and capital allocation, Management
/// Science 15 (1969).
/// @throws Error kUsage if a layer has no options or more than 65,535, tied layers have different
///         numbers of options, or a criterion is NaN
std::vector<Allocation> pareto_front(const AllocationProblem& problem);

}  // namespace halftone::accel
