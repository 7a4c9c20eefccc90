// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/parallel.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <string>

#include "halftone/accel/estimate.h"
#include "halftone/accel/testing.h"
#include "halftone/base/testing.h"
#include "halftone/spmd/cost.h"

namespace halftone::accel {
namespace {

using halftone::expect_error;
using test::layer;

Accelerator linked() {
  Accelerator result = test::chip();
  result.link = ChipLink{Topology::kRing, 1e9, 1, 1e-6, 0};
  return result;
}

TEST(Split, DividesSamplesOfDataParallelChips) {
  const Operation part = part_of(layer(10, 100, 50), {4, SplitKind::kData}, 10);
  EXPECT_EQ(part.product.rows, 3U);  // the largest share of ten samples
  EXPECT_DOUBLE_EQ(part.reads[0].bytes, 1000 * 0.3);
  EXPECT_DOUBLE_EQ(part.reads[1].bytes, 5000);
  EXPECT_DOUBLE_EQ(part.writes[0].bytes, 2000 * 0.3);
}

TEST(Split, DividesColumnsThenInnerExtentsOfTensorParallelChips) {
  const Operation first = part_of(layer(10, 100, 50), {4, SplitKind::kTensor}, 10);
  EXPECT_EQ(first.product.cols, 13U);
  EXPECT_DOUBLE_EQ(first.reads[0].bytes, 1000);
  EXPECT_DOUBLE_EQ(first.reads[1].bytes, 1250);
  Operation joined = layer(10, 100, 50);
  joined.joins_shares = true;
  const Operation second = part_of(joined, {4, SplitKind::kTensor}, 10);
  EXPECT_EQ(second.product.inner, 25U);
  EXPECT_DOUBLE_EQ(second.reads[0].bytes, 250);
  EXPECT_DOUBLE_EQ(second.writes[0].bytes, 2000);
}

TEST(Split, DividesElementsBetweenBothProductsOfATensorSplit) {
  Operation tanh = test::elements("Tanh", 100, 2, 1);
  const Operation whole = part_of(tanh, {4, SplitKind::kTensor}, 10);
  EXPECT_EQ(whole.operations, 200);
  tanh.in_shares = true;
  const Operation part = part_of(tanh, {4, SplitKind::kTensor}, 10);
  EXPECT_EQ(part.operations, 50);
  EXPECT_EQ(part.functions, 25);
  EXPECT_EQ(part.reads[0].bytes, 100);
  EXPECT_EQ(part.writes[0].bytes, 100);
}

/// a -> Relu -> b -> c, whose output b feeds too.
ir::Graph paired_layers() {
  ir::Graph graph;
  const auto floats = [](ir::Shape shape) {
    return ir::dense_type(ir::ElementType::kFloat32, std::move(shape));
  };
  const auto dense = [&](const char* name, ir::ValueId x) {
    const ir::ValueId w = graph.add_constant("w", ir::Tensor(ir::ElementType::kFloat32, {16, 16}));
    return graph.add_node(name, ir::FullyConnected{}, {x, w});
  };
  const ir::ValueId a = dense("a", graph.add_input("x", floats({1, 16})));
  const ir::ValueId relu = graph.add_node("relu", ir::Unary{{ir::ActivationKind::kRelu}}, {a});
  const ir::ValueId b = dense("b", relu);
  const ir::ValueId c = dense("c", b);
  graph.add_output(graph.add_node("sum", ir::Binary{ir::BinaryKind::kAdd, {}}, {b, c}));
  return graph;
}

TEST(Split, FindsPairsOfLayersInANetwork) {
  const Workload workload = workload_of(paired_layers(), "w");
  std::map<std::string, const Operation*> found;
  for (const Operation& each : workload.operations) found[each.name] = &each;
  EXPECT_TRUE(found["relu"]->in_shares);
  EXPECT_TRUE(found["b"]->joins_shares);
  EXPECT_FALSE(found["a"]->gathers_shares);
  EXPECT_TRUE(found["c"]->gathers_shares);
  EXPECT_FALSE(found["sum"]->in_shares);
  const Estimate tensor =
      estimate(workload, linked(), {Method::kRoofline, {2, SplitKind::kTensor}});
  const double sum_s = all_reduce_seconds(*linked().link, 2, 16 * 4.0);
  EXPECT_EQ(tensor.operations[0].link_s, 0);
  EXPECT_DOUBLE_EQ(tensor.operations[2].link_s, sum_s);
  EXPECT_DOUBLE_EQ(tensor.operations[3].link_s, sum_s / 2);
}

TEST(Split, LeavesOperationsOfAPipelineWhole) {
  const Operation part = part_of(layer(10, 100, 50), {4, SplitKind::kPipeline}, 10);
  EXPECT_EQ(part.product, layer(10, 100, 50).product);
}

TEST(Split, CutsPipelinesWhereTheSlowestStageIsFastest) {
  EXPECT_THAT(pipeline_stages({1, 1, 1, 1}, 2), testing::ElementsAre(0, 2));
  EXPECT_THAT(pipeline_stages({5, 1, 1, 1}, 2), testing::ElementsAre(0, 1));
  EXPECT_THAT(pipeline_stages({1, 2, 3, 4, 5}, 3), testing::ElementsAre(0, 3, 4));
  EXPECT_THAT(pipeline_stages({1, 2}, 1), testing::ElementsAre(0));
}

TEST(Split, NeedsALinkAndEnoughToDivide) {
  const Workload workload{"w", 2, {layer(2, 8, 8)}};
  expect_error(ErrorKind::kUsage, "'chip' has no [link]: add one, or use one device", [&] {
    check_split(workload, test::chip(), {2, SplitKind::kData});
  });
  expect_error(ErrorKind::kUsage, "devices: expected at least 1, found 0", [&] {
    check_split(workload, linked(), {0, SplitKind::kData});
  });
  expect_error(ErrorKind::kUnsupported,
               "a data split over 3 devices needs as many samples, found 2", [&] {
                 check_split(workload, linked(), {3, SplitKind::kData});
               });
  expect_error(ErrorKind::kUnsupported,
               "a pipeline split over 2 devices needs as many operations, found 1", [&] {
                 check_split(workload, linked(), {2, SplitKind::kPipeline});
               });
  expect_error(ErrorKind::kUsage, "expected one of data, tensor, pipeline, found 'x'",
               [] { split_named("x"); });
}

TEST(AllReduce, TakesTheFastestAlgorithmOfTheTopology) {
  ChipLink link = *linked().link;
  const spmd::Link model{1e-6, 1e-9, 0};
  const auto ring = all_reduce_path(spmd::CollectiveAlgorithm::kRing, 4, 1e6);
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 4, 1e6), model.seconds(ring));
  EXPECT_EQ(all_reduce_seconds(link, 1, 1e6), 0);
  link.topology = Topology::kFullyConnected;
  // Without bytes, a chain takes the time of one message.
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 4, 0), 1e-6);
  EXPECT_LT(all_reduce_seconds(link, 4, 10),
            model.seconds(all_reduce_path(spmd::CollectiveAlgorithm::kHalving, 4, 10)));
  EXPECT_DOUBLE_EQ(all_reduce_seconds(link, 4, 1e9),
                   model.seconds(all_reduce_path(spmd::CollectiveAlgorithm::kHalving, 4, 1e9)));
}

TEST(Split, ChangesEstimates) {
  Operation joined = layer(8, 4000, 4000);
  joined.joins_shares = true;
  const Workload workload{"w", 8, {layer(8, 4000, 4000), joined}};
  const auto seconds = [&](const Split& split) {
    return estimate(workload, linked(), {Method::kRoofline, split});
  };
  const double alone = seconds({}).seconds;
  const Estimate tensor = seconds({4, SplitKind::kTensor});
  EXPECT_EQ(tensor.operations[0].link_s, 0);
  EXPECT_DOUBLE_EQ(tensor.operations[1].link_s,
                   all_reduce_seconds(*linked().link, 4, 8 * 4000 * 4.0));
  EXPECT_DOUBLE_EQ(tensor.footprint.weights, 2 * 16e6 / 4);
  const Estimate pipeline = seconds({2, SplitKind::kPipeline});
  const double sent = send_seconds(*linked().link, 8 * 4000 * 4.0);
  EXPECT_DOUBLE_EQ(pipeline.seconds, alone + sent);
  EXPECT_DOUBLE_EQ(pipeline.interval_s, alone / 2 + sent);
}

}  // namespace
}  // namespace halftone::accel
