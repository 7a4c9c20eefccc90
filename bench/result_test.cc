// SPDX-License-Identifier: Apache-2.0
#include "bench/result.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace halftone::bench {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(Median, IsTheMiddleOrTheMeanOfTwo) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 100}), 3);
  EXPECT_EQ(median({7}), 7);
}

TEST(Spread, IsTheMedianDistanceFromTheMedian) {
  EXPECT_DOUBLE_EQ(spread({10, 11, 9, 10, 50}), 0.1);
  EXPECT_EQ(spread({5}), 0);
}

TEST(Bound, IsTheLongerOfReadingAndComputing) {
  const Rates rates = {{Limit::kDram, {100}}, {Limit::kInt8, {10}}};
  const auto computing = bound_of({1000, Limit::kDram, 200, Limit::kInt8}, rates);
  ASSERT_TRUE(computing);
  EXPECT_EQ(computing->limit, Limit::kInt8);
  EXPECT_DOUBLE_EQ(computing->seconds, 20);
  const auto reading = bound_of({1000, Limit::kDram, 50, Limit::kInt8}, rates);
  ASSERT_TRUE(reading);
  EXPECT_EQ(reading->limit, Limit::kDram);
  EXPECT_DOUBLE_EQ(reading->seconds, 10);
}

TEST(Bound, NeedsTheRateOfTheWork) {
  const Rates rates = {{Limit::kDram, {100}}};
  EXPECT_FALSE(bound_of({1000, Limit::kL1, 200, Limit::kInt8}, rates));
  EXPECT_FALSE(bound_of({1000, std::nullopt, 200, std::nullopt}, rates));
}

Outcome make_outcome() {
  return {"gemv",
          "A title",
          {"x f32"},
          {{"gemv/f32", {"gemv/f32"}, "peer", std::nullopt, {4e-5, 4e-5, 5e-5}},
           {"gemv/W2", {"gemv/f32"}, "ours", Work{1e6, Limit::kL3, 0, std::nullopt}, {2e-5}},
           {"gemv/W3", {"gemv/absent"}, "ours", std::nullopt, {3e-5}}},
          {{Limit::kL3, {1e11}}},
          {}};
}

TEST(OutcomeText, HasRatiosAndFractions) {
  const std::string text = to_text(make_outcome());
  EXPECT_THAT(text, HasSubstr("A title\ngemv  kernel    us"));
  EXPECT_THAT(text, HasSubstr("f32   peer    40.0  0%   1.00     -      -      -      -\n"));
  EXPECT_THAT(text, HasSubstr("W2    ours    20.0  0%   2.00  50.0      -     L3    50%\n"));
  EXPECT_THAT(text, HasSubstr("W3    ours    30.0  0%      -     -      -      -      -\n"));
  EXPECT_THAT(text, HasSubstr("measured between these rows: L3 100 GB/s\n"));
}

TEST(OutcomeText, MarksDisturbedRows) {
  Outcome outcome = make_outcome();
  EXPECT_THAT(to_text(outcome), Not(HasSubstr("busy")));
  outcome.rows[1].wall_per_cpu = 1.2;
  outcome.rows[2].seconds = {3e-5, 4e-5, 5e-5};
  const std::string text = to_text(outcome);
  EXPECT_THAT(text, HasSubstr("W2    ours    20.0   ! 0%"));
  EXPECT_THAT(text, HasSubstr("W3    ours    40.0  ! 25%"));
  EXPECT_THAT(text, HasSubstr("! The machine was busy"));
}

TEST(OutcomeText, ComparesWithAnEarlierRun) {
  Outcome outcome = make_outcome();
  outcome.earlier = {{"gemv/W2", 3e-5}};
  const std::string text = to_text(outcome);
  EXPECT_THAT(text, HasSubstr("x f32  x before"));
  EXPECT_THAT(text, HasSubstr("W2    ours    20.0  0%   2.00      1.50"));
  EXPECT_THAT(text, HasSubstr("W3    ours    30.0  0%      -         -"));
}

TEST(Limits, AreTheSpeedOfTheFastestRow) {
  Outcome outcome = make_outcome();
  raise_limits(outcome);
  EXPECT_EQ(outcome.rates.at(Limit::kL3).per_second, 1e11);  // no row is as fast
  outcome.rows[1].seconds = {5e-6};
  raise_limits(outcome);
  EXPECT_DOUBLE_EQ(outcome.rates.at(Limit::kL3).per_second, 2e11);
  EXPECT_THAT(to_text(outcome), HasSubstr("L3 200 GB/s (W2)"));
  EXPECT_THAT(to_text(outcome), HasSubstr("L3   100%"));
}

TEST(OutcomeText, HasNoFractionsForSeveralThreads) {
  Outcome outcome = make_outcome();
  outcome.rows[1].threads = 2;
  EXPECT_THAT(to_text(outcome), Not(HasSubstr("50%")));
}

TEST(OutcomeText, OmitsEmptyColumns) {
  Outcome outcome = make_outcome();
  outcome.rows[1].work.reset();
  EXPECT_THAT(to_text(outcome), HasSubstr("gemv  kernel    us  +-  x f32\n"));
}

TEST(OutcomeJson, HasTheContentsOfTheText) {
  const nlohmann::ordered_json json = to_json(make_outcome());
  EXPECT_EQ(json["limits"]["L3"]["g_per_s"], 100.0);
  ASSERT_EQ(json["rows"].size(), 3);
  EXPECT_DOUBLE_EQ(json["rows"][1]["ratios"]["x f32"].get<double>(), 2);
  EXPECT_DOUBLE_EQ(json["rows"][1]["fraction_of_limit"].get<double>(), 0.5);
  EXPECT_EQ(json["rows"][0]["repetitions_us"].size(), 3);
  EXPECT_EQ(nlohmann::json::parse(json.dump())["rows"][2]["ratios"]["x f32"], nullptr);
}

}  // namespace
}  // namespace halftone::bench
