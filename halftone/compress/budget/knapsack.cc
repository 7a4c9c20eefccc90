// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/budget/knapsack.h"

#include <cmath>
#include <string>
#include <tuple>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/budget/knapsack_core.h"
#include "halftone/compress/budget/nondominated.h"

namespace halftone::compress {
namespace {

constexpr std::int64_t kMaxSize = std::int64_t{1} << 62;

void check_item(const std::vector<KnapsackChoice>& choices, std::size_t index) {
  const std::string where = "item " + std::to_string(index);
  if (choices.empty()) fail(ErrorKind::kUsage, where + ": expected choices, found none");
  for (const KnapsackChoice& each : choices) {
    if (!std::isfinite(each.cost)) {
      fail(ErrorKind::kUsage,
           where + ": expected finite costs, found " + std::to_string(each.cost));
    }
    for (const std::int64_t size : each.sizes) {
      if (size < 0 || size >= kMaxSize) {
        fail(ErrorKind::kUsage,
             where + ": expected sizes from 0 to below 2^62, found " + std::to_string(size));
      }
    }
  }
}

/// The sums of the least sizes of items, each by itself.
KnapsackSizes least_sizes(const KnapsackProblem& problem) {
  KnapsackSizes least{};
  KnapsackSizes largest{};
  for (const auto& choices : problem.items) {
    for (std::size_t k = 0; k < 2; ++k) {
      const auto size = [k](const KnapsackChoice& each) { return each.sizes[k]; };
      const auto [low, high] = std::ranges::minmax(choices, {}, size);
      least[k] += low.sizes[k];
      largest[k] += high.sizes[k];
      if (largest[k] >= kMaxSize) {
        fail(ErrorKind::kUsage, "sizes: expected sums below 2^62, found more");
      }
    }
  }
  return least;
}

/// "1000", or "1000 and 20" if both sizes have a budget.
std::string text_of(const KnapsackSizes& sizes, const KnapsackSizes& budgets) {
  std::string text;
  for (std::size_t k = 0; k < 2; ++k) {
    if (budgets[k] == kNoBudget) continue;
    text += (text.empty() ? "" : " and ") + std::to_string(sizes[k]);
  }
  return text;
}

[[noreturn]] void fail_budgets(const KnapsackProblem& problem, const KnapsackSizes& least,
                               const std::string& not_both) {
  fail(ErrorKind::kUsage, "budgets: expected at least " + text_of(least, problem.budgets) +
                              not_both + ", found " + text_of(problem.budgets, problem.budgets));
}

CoreItem core_item(const std::vector<KnapsackChoice>& choices, std::size_t index) {
  KnapsackSizes least = choices[0].sizes;
  double cheapest = choices[0].cost;
  for (const KnapsackChoice& each : choices) {
    cheapest = std::min(cheapest, each.cost);
    for (std::size_t k = 0; k < 2; ++k) least[k] = std::min(least[k], each.sizes[k]);
  }
  std::vector<std::tuple<std::int64_t, std::int64_t, double>> points;
  for (const KnapsackChoice& each : choices) {
    points.emplace_back(each.sizes[0] - least[0], each.sizes[1] - least[1], each.cost - cheapest);
  }
  CoreItem item{index, {}};
  for (const std::size_t kept : nondominated(points)) {
    const auto& [first, second, cost] = points[kept];
    item.choices.push_back({cost, {first, second}, kept});
  }
  return item;
}

KnapsackCore core_of(const KnapsackProblem& problem, const KnapsackSizes& least) {
  constexpr double kTolerance = 1e-12;
  KnapsackCore core;
  for (std::size_t k = 0; k < 2; ++k) {
    if (problem.budgets[k] < least[k]) fail_budgets(problem, least, "");
    core.budgets[k] = std::min(problem.budgets[k], kMaxSize) - least[k];
  }
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    core.items.push_back(core_item(problem.items[i], i));
    core.scale += std::ranges::max(core.items.back().choices, {}, &CoreChoice::cost).cost;
  }
  core.tolerance = kTolerance * core.scale;
  return core;
}

KnapsackAnswer answer_of(const KnapsackProblem& problem, FoundChoices found) {
  KnapsackAnswer answer{.choices = std::move(found.choices)};
  double cheapest = 0;
  for (std::size_t i = 0; i < problem.items.size(); ++i) {
    const std::vector<KnapsackChoice>& choices = problem.items[i];
    const KnapsackChoice& choice = choices[answer.choices[i]];
    answer.cost += choice.cost;
    cheapest += std::ranges::min(choices, {}, &KnapsackChoice::cost).cost;
    for (std::size_t k = 0; k < 2; ++k) answer.sizes[k] += choice.sizes[k];
  }
  answer.is_optimal = found.is_complete;
  answer.least_cost = answer.is_optimal ? answer.cost : cheapest + found.least_cost;
  return answer;
}

}  // namespace

KnapsackAnswer solve_knapsack(const KnapsackProblem& problem, const KnapsackOptions& options) {
  for (std::size_t i = 0; i < problem.items.size(); ++i) check_item(problem.items[i], i);
  const KnapsackSizes least = least_sizes(problem);
  const KnapsackCore core = core_of(problem, least);
  if (problem.items.empty()) return {{}, 0, {}, 0, true};
  const std::string not_both = ", and more of one of them because not both are least at once";
  const KnapsackBound bound = greatest_bound(core);
  if (bound.value > core.scale + core.tolerance) fail_budgets(problem, least, not_both);
  FoundChoices found = search_choices(core, bound, options.max_sums);
  if (found.choices.empty() && found.is_complete) fail_budgets(problem, least, not_both);
  if (found.choices.empty()) {
    fail(ErrorKind::kUnsupported,
         "budgets: expected more of one of them, found no choices within " +
             text_of(problem.budgets, problem.budgets) + "; there may be some");
  }
  return answer_of(problem, std::move(found));
}

}  // namespace halftone::compress
