// SPDX-License-Identifier: Apache-2.0
// A program that does not link oneDNN, though its build may have it.
#include <gtest/gtest.h>

#include <fstream>
#include <string>

#include "halftone/base/parallel.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::test::float_type;

/// One of each layer that oneDNN would compute.
ir::Graph float_network() {
  Random random(3);
  ir::Graph graph;
  const auto x = graph.add_input("x", float_type({ir::kBatch, 12, 12, 8}));
  const auto constant = [&](const char* name, const ir::Shape& shape) {
    return graph.add_constant(name, testing::random_tensor(shape, random, 0.2F));
  };
  const auto conv = graph.add_node("conv", ir::Conv{ir::plain_window(2), 1, {}},
                                   {x, constant("w", {20, 3, 3, 8})});
  ir::ConvTranspose wider;
  wider.window = ir::plain_window(2);
  wider.output_padding = {0, 0};
  const auto transposed =
      graph.add_node("transposed", wider, {conv, constant("wide", {9, 3, 3, 20})});
  const ir::Pool pool{ir::PoolKind::kAverage, {2, 2}, ir::plain_window(2)};
  const auto pooled = graph.add_node("pool", pool, {transposed});
  const auto dense = graph.add_node("dense", ir::FullyConnected{}, {pooled, constant("d", {7, 9})});
  graph.add_output(graph.add_node("matmul", ir::MatMul{}, {dense, constant("m", {7, 5})}));
  return graph;
}

TEST(OneDnnAbsent, FloatLayersRunOnOurOwnKernels) {
  for (const int threads : {1, 2}) {
    set_num_threads(threads);
    const PlanSettings options{.batch = 2, .threads = threads};
    const auto plan = testing::expect_reference_result(float_network(), options, 1e-4F);
    ASSERT_EQ(plan->steps().size(), 5U);
    for (const PlanStep& step : plan->steps())
      EXPECT_EQ(step.kernel, "fixed_order_f32") << step.name;
  }
  set_num_threads(0);
}

TEST(OneDnnAbsent, TheFastestOrderIsTheFixedOne) {
  Random random(5);
  const auto inputs = ir::test::list(testing::random_tensor({1, 12, 12, 8}, random));
  const auto run = [&](FloatOrder order) {
    return Session(make_plan(float_network(), {.execution = {.float_order = order}})).run(inputs);
  };
  EXPECT_TRUE(testing::same_bytes(run(FloatOrder::kFastest), run(FloatOrder::kFixed)));
}

TEST(OneDnnAbsent, TheProcessDoesNotLoadIt) {
  std::ifstream maps("/proc/self/maps");
  ASSERT_TRUE(maps.is_open());
  for (std::string line; std::getline(maps, line);) {
    EXPECT_EQ(line.find("libdnnl"), std::string::npos) << line;
  }
}

}  // namespace
}  // namespace halftone::runtime
