// SPDX-License-Identifier: Apache-2.0
// What the steps of solve_knapsack() share.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <vector>

#include "halftone/compress/budget/knapsack.h"

namespace halftone::compress {

/// Costs of a unit of each size.
using KnapsackMultipliers = std::array<double, 2>;

/// A choice that no other choice of its item dominates.
struct CoreChoice {
  double cost = 0;        ///< above the least of its item
  KnapsackSizes sizes{};  ///< likewise
  std::size_t index = 0;  ///< in the problem
  double reduced = 0;     ///< reduced cost at the multipliers of the bound
};

struct CoreItem {
  std::size_t index = 0;  ///< in the problem
  std::vector<CoreChoice> choices;
};

struct KnapsackCore {
  std::vector<CoreItem> items;
  KnapsackSizes budgets{};  ///< what the least sizes of the items leave
  double scale = 0;         ///< the sum of the ranges of costs
  double tolerance = 0;     ///< costs that differ by less count as equal
};

inline double weighted(const KnapsackSizes& sizes, const KnapsackMultipliers& m) {
  return m[0] * static_cast<double>(sizes[0]) + m[1] * static_cast<double>(sizes[1]);
}

inline KnapsackSizes difference(const KnapsackSizes& a, const KnapsackSizes& b) {
  return {a[0] - b[0], a[1] - b[1]};
}

/// A lower bound of the costs of all choices within the budgets.
struct KnapsackBound {
  KnapsackMultipliers at{};
  double value = 0;
  std::array<double, 2> slopes{};  ///< for one more of each multiplier
};

/// The greatest bound L(m) over m >= 0 (see solve_knapsack()); or one above core.scale, beyond what
/// choices can cost: then none are within the budgets.
/// @pre a choice of each item has size 0 in each unit
KnapsackBound greatest_bound(const KnapsackCore& core);

/// The best choices that were found.
struct FoundChoices {
  double cost = std::numeric_limits<double>::infinity();  ///< above the least costs of the items
  std::vector<std::size_t> choices{};                     ///< of each item of the problem; or none
  double least_cost = 0;                                  ///< no choices cost less
  bool is_complete = false;                               ///< there are none better
};

/// Looks for the best choices within the budgets.
/// @param max_sums  how many sums are looked at before sums are left out
FoundChoices search_choices(const KnapsackCore& core, const KnapsackBound& bound,
                            std::size_t max_sums);

}  // namespace halftone::compress
