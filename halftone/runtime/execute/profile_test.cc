// SPDX-License-Identifier: Apache-2.0
#include "halftone/runtime/execute/profile.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "halftone/base/testing.h"
#include "halftone/runtime/test_graphs.h"

namespace halftone::runtime {
namespace {

TEST(Profile, MeasuresEveryStepAndTheWhole) {
  const auto plan = make_plan(testing::make_perceptron({.bits = 2}), {.batch = 8});
  const Profile result = profile(plan, {.min_seconds = 0.02, .min_runs = 20});
  EXPECT_GE(result.runs, 20U);
  EXPECT_GT(result.p10_us, 0);
  EXPECT_LE(result.p10_us, result.median_us);
  EXPECT_LE(result.median_us, result.p99_us);
  ASSERT_EQ(result.step_median_us.size(), plan->steps().size());
  const double sum =
      std::accumulate(result.step_median_us.begin(), result.step_median_us.end(), 0.0);
  EXPECT_GT(sum, 0);
  EXPECT_LE(sum, 10 * result.p99_us);
}

TEST(Profile, RunsAtLeastOnce) {
  const auto plan = make_plan(testing::make_perceptron({.inputs = 4, .hidden = 4}));
  const Profile result = profile(plan, {.min_seconds = 0, .min_runs = 0});
  EXPECT_EQ(result.runs, 1U);
  EXPECT_EQ(result.p10_us, result.p99_us);
}

TEST(Profile, RunsForTheMinimumTime) {
  const auto plan = make_plan(testing::make_perceptron({.inputs = 4, .hidden = 4}));
  const Profile result = profile(plan, {.min_seconds = 0.02, .min_runs = 0});
  EXPECT_GT(result.runs, 1U);
}

TEST(Profile, ReportsTheMeasuredShareAndEndsIfTheSinkThrows) {
  const auto plan = make_plan(testing::make_perceptron({.inputs = 4, .hidden = 4}));
  std::vector<double> shares;
  ProfileOptions options{.min_seconds = 0, .min_runs = 3};
  options.progress = [&](double fraction, std::string_view activity) {
    shares.push_back(fraction);
    EXPECT_EQ(activity, "measuring");
  };
  profile(plan, options);
  EXPECT_EQ(shares.size(), 6U);
  EXPECT_TRUE(std::ranges::is_sorted(shares));
  EXPECT_LE(shares.back(), 1);
  options.min_seconds = 60;
  options.progress = [](double, std::string_view) { fail(ErrorKind::kInterrupted, "enough"); };
  expect_error(ErrorKind::kInterrupted, "enough", [&] { profile(plan, options); });
}

TEST(Profile, TakesGraphsThatAreNotFloat) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kInt64, {3}));
  graph.add_output(graph.add_node("cast", ir::Cast{ir::ElementType::kFloat32}, {x}));
  EXPECT_EQ(profile(make_plan(graph), {.min_seconds = 0, .min_runs = 5}).runs, 5U);
}

TEST(PlanShares, AreAsEqualAsPossible) {
  const ir::Graph graph = testing::make_perceptron({.inputs = 4, .hidden = 4});
  const auto batches = [&](std::size_t batch, std::size_t max_shares) {
    std::vector<std::size_t> result;
    for (const PlanPointer& plan : plan_shares(graph, {.batch = batch}, max_shares)) {
      result.push_back(plan->options().batch);
    }
    return result;
  };
  using ::testing::ElementsAre;
  EXPECT_THAT(batches(7, 1), ElementsAre(7));
  EXPECT_THAT(batches(7, 3), ElementsAre(3, 2, 2));
  EXPECT_THAT(batches(2, 3), ElementsAre(1, 1));
  const auto equal = plan_shares(graph, {.batch = 6}, 3);
  EXPECT_EQ(equal[0], equal[2]);
}

TEST(PlanShares, RejectFixedBatches) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {4, 3}));
  graph.add_output(graph.add_node("tanh", ir::Unary{{ir::ActivationKind::kTanh}}, {x}));
  EXPECT_EQ(plan_shares(graph, {.batch = 4}, 1).size(), 1U);
  expect_error(ErrorKind::kUsage, "fixed to 4 samples",
               [&] { plan_shares(graph, {.batch = 4}, 2); });
}

TEST(Profile, MeasuresSharesTogether) {
  const auto graph = testing::make_perceptron({.inputs = 4, .hidden = 4});
  const auto shares = plan_shares(graph, {.batch = 5}, 3);
  const Profile result =
      profile(shares, spmd::Devices::emulate(3), {.min_seconds = 0, .min_runs = 40});
  EXPECT_EQ(result.devices, 3U);
  EXPECT_EQ(result.batch, 5U);
  EXPECT_EQ(result.runs, 40U);
  EXPECT_GT(result.p10_us, 0);
  EXPECT_LE(result.p10_us, result.p99_us);
  EXPECT_EQ(result.step_median_us.size(), shares.front()->steps().size());
}

TEST(Profile, RejectsInvalidTimes) {
  const auto plan = make_plan(testing::make_perceptron({.inputs = 4, .hidden = 4}));
  for (const double seconds :
       {-1.0, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()}) {
    try {
      profile(plan, {.min_seconds = seconds});
      FAIL() << "expected an error";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kUsage);
      EXPECT_THAT(error.what(), ::testing::HasSubstr("seconds to measure"));
    }
  }
}

}  // namespace
}  // namespace halftone::runtime
