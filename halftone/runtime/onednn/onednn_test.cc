// SPDX-License-Identifier: Apache-2.0
// Plans of a program that links oneDNN.
#include <gtest/gtest.h>

#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::float_type;

TEST(OneDnn, ComputesFloatLayers) {
  const auto plan = make_plan(testing::make_perceptron({}), {.batch = 2});
  for (const Step& step : plan->steps()) {
    if (step.op != "FullyConnected") continue;
    EXPECT_EQ(step.kernel, "onednn_f32") << step.name;
    EXPECT_EQ(step.arithmetic, Arithmetic::kFastestFloat) << step.name;
  }
}

TEST(OneDnn, DoesNotComputeLayersOfFixedOrder) {
  const PlanOptions options{.execution = {.float_order = FloatOrder::kFixed}};
  const auto plan = make_plan(testing::make_perceptron({}), options);
  const Step& step = plan->steps().front();
  EXPECT_EQ(step.kernel, "fixed_order_f32");
  ASSERT_EQ(step.refused.size(), 3U);
  EXPECT_EQ(step.refused[2].kernel, "onednn_f32");
  EXPECT_EQ(step.refused[2].reason, "its order of sums depends on the processor");
}

TEST(OneDnn, GetsThreadsForEnoughWorkOnly) {
  const auto threads = [](ir::Dim extent) {
    ir::Graph graph;
    const auto x = graph.add_input("x", float_type({ir::kBatch, extent, extent, 16}));
    const ir::Pool pool{ir::PoolKind::kAverage, {2, 2}, ir::plain_window(2)};
    graph.add_output(graph.add_node("pool", pool, {x}));
    const auto plan = make_plan(std::move(graph), {.threads = 2});
    EXPECT_EQ(testing::kernel_of(*plan), "onednn_f32");
    return plan->steps().back().threads;
  };
  EXPECT_EQ(threads(8), 1);
  EXPECT_EQ(threads(200), 2);
}

}  // namespace
}  // namespace halftone::runtime
