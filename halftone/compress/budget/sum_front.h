// SPDX-License-Identifier: Apache-2.0
// All sums that no other sum dominates, of one choice for each item.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace halftone::compress {

/// What adds up over items, each of which should be small. Unused ones are 0.
using Criteria = std::array<double, 3>;
inline constexpr Criteria kNoLimits = {std::numeric_limits<double>::infinity(),
                                       std::numeric_limits<double>::infinity(),
                                       std::numeric_limits<double>::infinity()};

struct FrontProblem {
  std::vector<std::vector<Criteria>> items;  ///< criteria of each choice of each item
  Criteria limits = kNoLimits;               ///< of the sums, inclusive
};

struct FrontSum {
  Criteria sums{};
  std::vector<std::uint16_t> choices;  ///< of each item
};

/// All sums within the limits that no other one dominates, in ascending order of the criteria;
/// where solve_knapsack() finds one. They are exact: item by item, sums that another sum dominates
/// are dropped, since each continuation of the one is also a continuation of the other. Sums are
/// added in the order of items; of choices with equal sums one remains, always the same. Source:
/// Nemhauser and Ullmann, Discrete dynamic programming and capital allocation, Management Science
/// 15 (1969).
/// @throws Error kUsage if an item has no choices or more than 65,535, or a criterion is NaN
std::vector<FrontSum> sum_front(const FrontProblem& problem);

}  // namespace halftone::compress
