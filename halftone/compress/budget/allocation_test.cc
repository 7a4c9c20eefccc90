// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/budget/allocation.h"

#include <gtest/gtest.h>

#include <limits>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"

namespace halftone::compress {
namespace {

constexpr std::size_t kUnits = 5;
constexpr std::size_t kChoices = 3;

/// Random costs: loss falls with bytes and time, roughly.
Sensitivity random_costs(std::uint64_t seed) {
  Random random(seed);
  Sensitivity costs;
  for (std::size_t u = 0; u < kUnits; ++u) {
    costs.layers.push_back({"layer" + std::to_string(u), "Conv", 1000});
    costs.units.push_back({{u}});
  }
  for (std::size_t c = 0; c < kChoices; ++c) {
    ChoiceSensitivity choice{std::to_string(c), {}, {}, 100.0, {}};
    for (std::size_t u = 0; u < kUnits; ++u) {
      LayerSensitivity layer;
      layer.weighted_error = random.uniform() / static_cast<double>(1 + c);
      layer.us = 1 + random.uniform() * static_cast<double>(1 + c);
      choice.layers.push_back(layer);
      const std::size_t bytes = 100 * (1 + c) + random.below(100);
      choice.units.push_back({bytes, 0, 0});
    }
    costs.choices.push_back(std::move(choice));
  }
  return costs;
}

/// The best of all allocations, one by one.
std::optional<Allocation> best_of_all(const Sensitivity& costs, const Budget& budget,
                                      const Corrections& corrections) {
  std::optional<Allocation> best;
  std::vector<std::size_t> choices(kUnits, 0);
  std::size_t combinations = 1;
  for (std::size_t u = 0; u < kUnits; ++u) combinations *= kChoices;
  for (std::size_t i = 0; i < combinations; ++i) {
    for (std::size_t u = 0, rest = i; u < kUnits; ++u, rest /= kChoices) {
      choices[u] = rest % kChoices;
    }
    const Allocation each = predicted(costs, choices, corrections);
    bool is_within = true;
    for (const Measure measure : kMeasures) {
      is_within = is_within && (!budget[measure] || each.values[measure] <= *budget[measure]);
    }
    const Measure objective = objective_of(budget);
    if (is_within && (!best || each.values[objective] < best->values[objective])) best = each;
  }
  return best;
}

TEST(Allocation, IsTheBestOfAll) {
  Corrections corrections;
  corrections.offset[Measure::kBytes] = 333;
  corrections.offset[Measure::kTime] = 2;
  corrections.factor[Measure::kLoss] = 1.5;
  std::size_t compared = 0;
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    const Sensitivity costs = random_costs(seed);
    for (const auto& [first, second] :
         {std::pair{Measure::kBytes, Measure::kTime}, std::pair{Measure::kLoss, Measure::kBytes},
          std::pair{Measure::kLoss, Measure::kTime}, std::pair{Measure::kBytes, Measure::kBytes},
          std::pair{Measure::kLoss, Measure::kLoss}}) {
      Budget budget;
      budget[first] = predicted(costs, {0, 1, 2, 1, 0}, corrections).values[first] * 1.1;
      budget[second] = predicted(costs, {1, 1, 1, 2, 0}, corrections).values[second] * 1.1;
      const auto expected = best_of_all(costs, budget, corrections);
      if (!expected) {
        expect_error(ErrorKind::kUnsupported, "budget",
                     [&] { allocate(costs, budget, corrections); });
        continue;
      }
      ++compared;
      const Allocation found = allocate(costs, budget, corrections);
      const Measure objective = objective_of(budget);
      EXPECT_TRUE(found.is_optimal);
      // What solve_knapsack() says of an optimal answer: 1e-12 of the ranges of costs.
      EXPECT_NEAR(found.values[objective], expected->values[objective],
                  1e-12 * expected->values[objective])
          << seed << " " << to_string(first) << " " << to_string(second);
      for (const Measure measure : {first, second}) {
        EXPECT_LE(found.values[measure], *budget[measure]);
      }
    }
  }
  EXPECT_GT(compared, 100U);
}

TEST(Allocation, GivesUnitsWhatTheyMayHave) {
  std::size_t changed = 0;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Sensitivity costs = random_costs(seed);
    Budget budget;
    budget[Measure::kBytes] = predicted(costs, {1, 1, 1, 1, 1}, {}).values[Measure::kBytes];
    const Allocation before = allocate(costs, budget, {});
    costs.choices[before.choices[0]].units[0].is_possible = false;
    const auto expected = best_of_all(costs, budget, {});
    if (!expected) continue;
    ++changed;
    const Allocation found = allocate(costs, budget, {});
    EXPECT_EQ(found.choices, expected->choices);
    EXPECT_NE(found.choices[0], before.choices[0]);
    EXPECT_GE(found.values[Measure::kLoss], before.values[Measure::kLoss]);
    EXPECT_FALSE(pareto_front(costs, {}, Measure::kBytes, 8).empty());
  }
  EXPECT_GT(changed, 10U);
}

TEST(Allocation, CountsSmallLosses) {
  Sensitivity costs = random_costs(4);
  for (ChoiceSensitivity& choice : costs.choices) {
    for (LayerSensitivity& layer : choice.layers) layer.weighted_error *= 1e-9;
  }
  Budget budget;
  budget[Measure::kLoss] = 1.001 * predicted(costs, {0, 1, 2, 1, 0}, {}).values[Measure::kLoss];
  EXPECT_EQ(allocate(costs, budget, {}).values[Measure::kBytes],
            best_of_all(costs, budget, {})->values[Measure::kBytes]);
}

TEST(Allocation, SaysWhyABudgetIsNone) {
  Sensitivity costs = random_costs(1);
  const auto expect = [&](const Budget& budget, ErrorKind kind, const std::string& text) {
    expect_error(kind, text, [&] { allocate(costs, budget, {}); });
  };
  Budget budget;
  expect(budget, ErrorKind::kUsage, "expected one limit or two, found 0");
  budget[Measure::kBytes] = 10;
  expect(budget, ErrorKind::kUnsupported,
         "budget bytes=10 cannot be met with these choices: the least is");
  budget[Measure::kBytes] = -1;
  expect(budget, ErrorKind::kUsage, "budget bytes: expected a number above 0, found -1");
  budget[Measure::kBytes] = 1e6;
  budget[Measure::kEnergy] = 1;
  expect(budget, ErrorKind::kUsage, "budget pj: nothing has measured or estimated it");
  budget[Measure::kEnergy].reset();
  budget[Measure::kTime] = 1e6;
  budget[Measure::kLoss] = 1;
  expect(budget, ErrorKind::kUsage, "expected one limit or two, found 3");
  Budget fastest;
  fastest[Measure::kLoss] = 10;
  fastest[Measure::kBytes] = 1e6;
  Sensitivity untimed = costs;
  for (ChoiceSensitivity& choice : untimed.choices) choice.us.reset();
  expect_error(ErrorKind::kUsage, "budget: the least us is looked for, but nothing has measured",
               [&] { allocate(untimed, fastest, {}); });
  for (SensitiveUnit& unit : costs.units) unit.may_change = false;
  budget[Measure::kLoss].reset();
  expect(budget, ErrorKind::kUnsupported, "no layer may change");
}

TEST(Allocation, SaysThatTwoLimitsContradict) {
  const Sensitivity costs = random_costs(2);
  const Allocation small = predicted(costs, {0, 0, 0, 0, 0}, {});
  Budget budget;
  budget[Measure::kBytes] = small.values[Measure::kBytes];
  double least = 0;
  for (std::size_t u = 0; u < kUnits; ++u) {
    double low = std::numeric_limits<double>::infinity();
    for (const ChoiceSensitivity& choice : costs.choices) {
      low = std::min(low, choice.layers[u].weighted_error);
    }
    least += low;
  }
  budget[Measure::kLoss] = least * (1 + 1e-6);
  expect_error(ErrorKind::kUnsupported, "each limit can be met, but not both at once",
               [&] { allocate(costs, budget, {}); });
}

TEST(Allocation, HasAFrontOfWhatNoOtherBeats) {
  const Sensitivity costs = random_costs(3);
  const std::vector<Allocation> front = pareto_front(costs, {}, Measure::kBytes, 16);
  ASSERT_GT(front.size(), 3U);
  for (std::size_t i = 0; i + 1 < front.size(); ++i) {
    EXPECT_LT(front[i].values[Measure::kBytes], front[i + 1].values[Measure::kBytes]);
    EXPECT_GT(front[i].values[Measure::kLoss], front[i + 1].values[Measure::kLoss]);
    Budget budget;
    budget[Measure::kBytes] = front[i].values[Measure::kBytes];
    EXPECT_EQ(best_of_all(costs, budget, {})->values[Measure::kLoss],
              front[i].values[Measure::kLoss]);
  }
}

}  // namespace
}  // namespace halftone::compress
