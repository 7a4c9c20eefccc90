// SPDX-License-Identifier: Apache-2.0
// The multiple-choice knapsack: one choice for each item, so that costs are least within budgets.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace halftone::compress {

/// Sizes in two units, such as bytes and nanoseconds. The second one may be unused: 0.
using KnapsackSizes = std::array<std::int64_t, 2>;

inline constexpr std::int64_t kNoBudget = std::numeric_limits<std::int64_t>::max();

struct KnapsackChoice {
  double cost = 0;        ///< finite; may be negative
  KnapsackSizes sizes{};  ///< 0 or more; sums over all items below 2^62
};

struct KnapsackProblem {
  std::vector<std::vector<KnapsackChoice>> items;
  KnapsackSizes budgets = {kNoBudget, kNoBudget};  ///< of the sums of sizes, inclusive
};

struct KnapsackOptions {
  /// Sums that are looked at, each for about 0.1 microseconds, before sums are left out. Then the
  /// answer may not be the best one.
  std::size_t max_sums = std::size_t{1} << 23;
};

struct KnapsackAnswer {
  std::vector<std::size_t> choices;  ///< of each item
  double cost = 0;                   ///< summed in the order of items
  KnapsackSizes sizes{};
  /// No choices within the budgets cost less, but for rounding: of an optimal answer its own cost.
  double least_cost = 0;
  bool is_optimal = false;
};

/// Minimises sum_i cost(i, choice_i) subject to sum_i size_k(i, choice_i) <= budget_k, k = 1, 2.
///
/// An optimal answer costs at most 1e-12 sum_i (max_j cost(i, j) - min_j cost(i, j)) more than the
/// least that is possible. The same problem always has the same answer, whatever the threads.
///
/// Dominated choices are dropped: those that cost at least as much as another one that is no
/// larger. For multipliers m_k >= 0, the choices with the least cost + m size give a lower bound,
///
///     L(m) = sum_i min_j (cost(i, j) + sum_k m_k size_k(i, j)) - sum_k m_k budget_k,
///
/// the dual of the linear relaxation. Choices within the budgets cost at least L(m) plus their
/// reduced costs, which are what cost + m size of a choice has above the least of its item. With
/// the m of the greatest bound, items are decided one by one. A sum over decided items is kept if
/// its reduced costs are at most a limit, no other sum is as good in costs and sizes, and its
/// bounds at other multipliers allow costs below the best ones so far. The limit begins low and
/// doubles until choices within the budgets have reduced costs below it.
///
/// The problem is NP-hard, so that max_sums bounds the time. 300 items of 16 choices with two
/// budgets take some 10 milliseconds, whether numbers are random or like those of layers.
/// @throws Error kUsage if an item has no choices, a cost is not finite, a size is negative or too
///         large, or no choices are within the budgets, with the least sizes; kUnsupported if none
///         were found before there were too many sums
/// Source: Kellerer, Pferschy, Pisinger, Knapsack Problems, Springer 2004, chapter 11: bounds,
/// cores,
///         dynamic programming with dominance; Sinha, Zoltners, The multiple-choice knapsack
///         problem, Operations Research 27 (1979): dominance.
/// Differs: decides the items of large sizes first, and has two budgets.
KnapsackAnswer solve_knapsack(const KnapsackProblem& problem, const KnapsackOptions& options = {});

}  // namespace halftone::compress
