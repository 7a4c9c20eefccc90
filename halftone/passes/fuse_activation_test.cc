// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/simplify.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::Graph;
using ir::kBatch;
using ir::ValueId;
using ir::test::kTanh;
using testing::ElementsAre;

/// x [N, 2] -> FullyConnected -> Add to itself -> nodes that the test adds.
struct Chain {
  Graph graph;
  ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 2}));
  ValueId w = graph.add_constant("w", test::random_tensor({3, 2}, 1));
  ValueId dense = graph.add_node("dense", ir::FullyConnected{}, {x, w});
};

TEST(FuseActivation, MovesIntoTheLayer) {
  Chain chain;
  chain.graph.add_output(chain.graph.add_node("tanh", kTanh, {chain.dense}, "y"));
  EXPECT_TRUE(test::run_checked(chain.graph, fuse_activation));
  EXPECT_THAT(test::operators(chain.graph), ElementsAre("FullyConnected"));
  EXPECT_EQ(test::output_node(chain.graph).name, "dense");
  EXPECT_EQ(test::output_node(chain.graph).op, ir::Operator(ir::FullyConnected{kTanh.activation}));
  EXPECT_FALSE(test::run_checked(chain.graph, fuse_activation));
}

TEST(FuseActivation, MovesIntoBinaryOperatorsOnlyOnce) {
  Chain chain;
  const ir::Binary max{ir::BinaryKind::kMax, {}};
  const ValueId largest = chain.graph.add_node("max", max, {chain.dense, chain.dense});
  const ValueId tanh = chain.graph.add_node("tanh", kTanh, {largest});
  chain.graph.add_output(chain.graph.add_node("again", kTanh, {tanh}));
  EXPECT_TRUE(test::run_checked(chain.graph, fuse_activation));
  EXPECT_THAT(test::operators(chain.graph), ElementsAre("FullyConnected", "Max", "Tanh"));
}

TEST(FuseActivation, KeepsValuesWithOtherReaders) {
  Chain read;
  read.graph.add_output(read.graph.add_node("tanh", kTanh, {read.dense}));
  read.graph.add_output(read.graph.add_node("exp", ir::Softmax{1}, {read.dense}));
  EXPECT_FALSE(test::run_checked(read.graph, fuse_activation));
  Chain output;
  output.graph.add_output(output.dense);
  output.graph.add_output(output.graph.add_node("tanh", kTanh, {output.dense}));
  EXPECT_FALSE(test::run_checked(output.graph, fuse_activation));
}

TEST(FuseActivation, IsSafeOnRandomGraphs) { test::expect_safe_on_random_graphs(fuse_activation); }

}  // namespace
}  // namespace halftone::passes
