// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/budget/sum_front.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"

namespace halftone::compress {
namespace {

/// The sums of all choices, the last item fastest.
std::vector<Criteria> all_sums(const FrontProblem& problem) {
  std::vector<Criteria> sums = {Criteria{}};
  for (const std::vector<Criteria>& choices : problem.items) {
    std::vector<Criteria> longer;
    for (const Criteria& sum : sums) {
      for (const Criteria& choice : choices) {
        longer.push_back({sum[0] + choice[0], sum[1] + choice[1], sum[2] + choice[2]});
      }
    }
    sums = std::move(longer);
  }
  return sums;
}

bool is_within(const Criteria& a, const Criteria& limits) {
  return a[0] <= limits[0] && a[1] <= limits[1] && a[2] <= limits[2];
}

bool dominates(const Criteria& a, const Criteria& b) { return a != b && is_within(a, b); }

/// The sums of the front by comparing all pairs.
std::vector<Criteria> front_by_comparison(const FrontProblem& problem) {
  std::vector<Criteria> sums;
  for (const Criteria& each : all_sums(problem)) {
    if (is_within(each, problem.limits)) sums.push_back(each);
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
FrontProblem small_problem(Random& random, std::size_t criteria) {
  FrontProblem problem;
  problem.items.resize(1 + random.below(5));
  for (std::vector<Criteria>& choices : problem.items) {
    choices.resize(1 + random.below(4));
    for (Criteria& each : choices) {
      for (std::size_t c = 0; c < criteria; ++c) each[c] = static_cast<double>(random.below(12));
    }
  }
  return problem;
}

TEST(SumFront, EqualsThatOfAllCombinations) {
  Random random(1);
  for (int trial = 0; trial < 300; ++trial) {
    FrontProblem problem = small_problem(random, 2 + random.below(2));
    if (trial % 2 == 1) problem.limits[1] = static_cast<double>(random.below(30));
    std::vector<Criteria> sums;
    for (const FrontSum& each : sum_front(problem)) {
      EXPECT_TRUE(is_within(each.sums, problem.limits));
      Criteria sum{};
      for (std::size_t i = 0; i < each.choices.size(); ++i) {
        for (std::size_t c = 0; c < sum.size(); ++c) {
          sum[c] += problem.items[i][each.choices[i]][c];
        }
      }
      EXPECT_EQ(sum, each.sums);
      sums.push_back(each.sums);
    }
    EXPECT_EQ(sums, front_by_comparison(problem)) << "trial " << trial;
  }
}

TEST(SumFront, RejectsProblemsThatMakeNoSense) {
  FrontProblem problem{{{{1, 1, 0}}, {}}};
  expect_error(ErrorKind::kUsage, "item 1: expected 1 to 65,535 choices, found 0",
               [&] { sum_front(problem); });
  problem.items[1] = {{1, kNan, 0}};
  expect_error(ErrorKind::kUsage, "item 1: expected numbers as criteria, found NaN",
               [&] { sum_front(problem); });
}

}  // namespace
}  // namespace halftone::compress
