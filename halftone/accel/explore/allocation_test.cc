// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/allocation.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"

namespace halftone::accel {
namespace {

/// Every allocation, the first layer fastest.
std::vector<Allocation> all_allocations(const AllocationProblem& problem) {
  std::vector<Allocation> list = {{Criteria{}, std::vector<std::uint16_t>(problem.layers.size())}};
  for (std::size_t layer = 0; layer < problem.layers.size(); ++layer) {
    std::vector<Allocation> longer;
    for (const Allocation& each : list) {
      for (std::size_t option = 0; option < problem.layers[layer].size(); ++option) {
        Allocation next = each;
        next.options[layer] = static_cast<std::uint16_t>(option);
        for (std::size_t c = 0; c < kMaxCriteria; ++c) {
          next.sums[c] += problem.layers[layer][option][c];
        }
        longer.push_back(std::move(next));
      }
    }
    list = std::move(longer);
  }
  return list;
}

bool respects(const Allocation& allocation, const AllocationProblem& problem) {
  for (std::size_t i = 0; i < problem.ties.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      if (problem.ties[i] == problem.ties[j] && allocation.options[i] != allocation.options[j]) {
        return false;
      }
    }
  }
  for (std::size_t c = 0; c < kMaxCriteria; ++c) {
    if (allocation.sums[c] > problem.limits[c]) return false;
  }
  return true;
}

bool dominates(const Criteria& a, const Criteria& b) {
  return a != b && a[0] <= b[0] && a[1] <= b[1] && a[2] <= b[2];
}

/// The sums of the front by comparing all pairs.
std::vector<Criteria> front_by_comparison(const AllocationProblem& problem) {
  std::vector<Criteria> sums;
  for (const Allocation& each : all_allocations(problem)) {
    if (respects(each, problem)) sums.push_back(each.sums);
  }
  std::vector<Criteria> front;
  for (const Criteria& each : sums) {
    const bool is_worse =
        std::ranges::any_of(sums, [&](const Criteria& other) { return dominates(other, each); });
    if (!is_worse) front.push_back(each);
  }
  std::ranges::sort(front);
  front.erase(std::unique(front.begin(), front.end()), front.end());
  return front;
}

/// Small whole numbers, so that sums are exact and many are equal.
AllocationProblem random_problem(Random& random, std::size_t criteria) {
  AllocationProblem problem;
  problem.layers.resize(1 + random.below(5));
  for (std::vector<Criteria>& options : problem.layers) {
    options.resize(1 + random.below(4));
    for (Criteria& each : options) {
      for (std::size_t c = 0; c < criteria; ++c) each[c] = static_cast<double>(random.below(12));
    }
  }
  return problem;
}

TEST(Allocation, FrontEqualsThatOfAllCombinations) {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    AllocationProblem problem = random_problem(random, 2 + random.below(2));
    if (trial % 2 == 1) problem.limits[1] = static_cast<double>(random.below(30));
    std::vector<Criteria> sums;
    for (const Allocation& each : pareto_front(problem)) {
      EXPECT_TRUE(respects(each, problem));
      Criteria sum{};
      for (std::size_t i = 0; i < each.options.size(); ++i) {
        for (std::size_t c = 0; c < kMaxCriteria; ++c) {
          sum[c] += problem.layers[i][each.options[i]][c];
        }
      }
      EXPECT_EQ(sum, each.sums);
      sums.push_back(each.sums);
    }
    EXPECT_EQ(sums, front_by_comparison(problem)) << "trial " << trial;
  }
}

TEST(Allocation, TiedLayersTakeTheSameOption) {
  Random random(2);
  for (int trial = 0; trial < 100; ++trial) {
    AllocationProblem problem = random_problem(random, 2);
    for (auto& options : problem.layers) options.resize(3);
    for (std::size_t i = 0; i < problem.layers.size(); ++i) problem.ties.push_back(random.below(3));
    std::vector<Criteria> sums;
    for (const Allocation& each : pareto_front(problem)) {
      EXPECT_TRUE(respects(each, problem));
      sums.push_back(each.sums);
    }
    EXPECT_EQ(sums, front_by_comparison(problem)) << "trial " << trial;
  }
}

TEST(Allocation, RejectsProblemsThatMakeNoSense) {
  AllocationProblem problem{{{{1, 1, 0}}, {}}};
  expect_error(ErrorKind::kUsage, "layer 1: expected 1 to 65,535 options, found 0",
               [&] { pareto_front(problem); });
  problem.layers[1] = {{1, kNan, 0}};
  expect_error(ErrorKind::kUsage, "layer 1: expected numbers as criteria, found NaN",
               [&] { pareto_front(problem); });
  problem.layers[1] = {{1, 2, 0}, {2, 1, 0}};
  problem.ties = {7, 7};
  expect_error(ErrorKind::kUsage,
               "layers 0 and 1 are tied: expected equal numbers of options, found 1 and 2",
               [&] { pareto_front(problem); });
}

}  // namespace
}  // namespace halftone::accel
