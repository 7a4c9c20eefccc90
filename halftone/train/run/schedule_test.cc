// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/run/schedule.h"

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "halftone/base/testing.h"

namespace halftone::train {
namespace {

TEST(Schedule, FallsAlongACosine) {
  const Schedule schedule({}, 2, 4);
  EXPECT_DOUBLE_EQ(schedule.factor(0), 1);
  EXPECT_DOUBLE_EQ(schedule.factor(4), 0.5);
  EXPECT_GT(schedule.factor(7), 0);
  EXPECT_LT(schedule.factor(7), 0.05);
}

TEST(Schedule, FallsInStepsAtItsMilestones) {
  const Schedule schedule(
      {.kind = ScheduleKind::kStep, .milestones = {0.5, 0.75}, .decay = 0.1, .warm_up = 0}, 2, 4);
  for (const std::size_t step : {0U, 3U}) EXPECT_DOUBLE_EQ(schedule.factor(step), 1);
  for (const std::size_t step : {4U, 5U}) EXPECT_DOUBLE_EQ(schedule.factor(step), 0.1);
  for (const std::size_t step : {6U, 7U}) EXPECT_DOUBLE_EQ(schedule.factor(step), 0.1 * 0.1);
}

TEST(Schedule, RisesBeforeItFalls) {
  for (const ScheduleKind kind :
       {ScheduleKind::kCosine, ScheduleKind::kStep, ScheduleKind::kConstant}) {
    ScheduleOptions options;
    options.kind = kind;
    options.warm_up = 0.5;
    const Schedule schedule(options, 3, 8);
    for (std::size_t step = 0; step < 4; ++step) {
      EXPECT_DOUBLE_EQ(schedule.factor(step), static_cast<double>(step + 1) / 4);
    }
    EXPECT_DOUBLE_EQ(schedule.factor(4), 1);
    const double half_way = kind == ScheduleKind::kCosine ? 0.5
                            : kind == ScheduleKind::kStep ? 0.1
                                                          : 1;
    EXPECT_DOUBLE_EQ(schedule.factor(14), half_way);
  }
}

TEST(Schedule, RefusesWhatIsNone) {
  const auto expect_refusal = [](const std::string& text, const ScheduleOptions& options) {
    expect_error(ErrorKind::kUsage, text, [&] { Schedule(options, 2, 4); });
  };
  for (const std::vector<double>& milestones :
       {std::vector{0.0}, {1.0}, {0.5, 0.5}, {0.6, 0.5}, {std::nan("")}}) {
    ScheduleOptions options;
    options.milestones = milestones;
    expect_refusal("milestones: expected ascending values between 0 and 1", options);
  }
  for (const double decay : {0.0, 1.5}) {
    ScheduleOptions options;
    options.decay = decay;
    expect_refusal("decay: expected a number above 0, at most 1", options);
  }
  for (const double warm_up : {-1.0, 2.0}) {
    ScheduleOptions options;
    options.warm_up = warm_up;
    expect_refusal("warm-up: expected fewer epochs than the 2 of the training", options);
  }
}

}  // namespace
}  // namespace halftone::train
