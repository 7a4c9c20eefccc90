// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/simplify.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::Graph;
using ir::kBatch;
using ir::ValueId;
using ir::test::floats;
using ir::test::kAdd;
using testing::ElementsAre;

/// x [N, 2] + f(a number, repeated to [1, N, 3]).
struct Unrolled {
  explicit Unrolled(float number) {
    const ValueId c = graph.add_constant("c", floats({1}, {number}));
    value = graph.add_node("all", ir::BroadcastTo{{1, kBatch, 3}}, {c});
  }
  ValueId add(const std::string& name, ir::Operator op, std::vector<ValueId> inputs) {
    return graph.add_node(name, std::move(op), std::move(inputs));
  }

  Graph graph;
  ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 2}));
  ValueId w = graph.add_constant("w", floats({2, 3}, {1, 2, 3, -1, 0, 4}));
  ValueId value;
};

TEST(FoldBroadcasts, ALayerOfARepeatedNumberIsOneRow) {
  Unrolled net(0.5F);
  const ValueId state = net.add("state", ir::Reshape{{kBatch, 3}}, {net.value});
  const ValueId bias = net.graph.add_constant("b", floats({2}, {10, 20}));
  const ValueId layer = net.add("layer", ir::FullyConnected{}, {state, net.w, bias});
  net.graph.add_output(net.add("y", kAdd, {layer, net.x}));
  EXPECT_TRUE(test::run_checked(net.graph, fold_broadcasts));
  EXPECT_THAT(test::operators(net.graph), ElementsAre("Add"));
  EXPECT_THAT(test::constant_floats(net.graph, test::output_node(net.graph).inputs[0]),
              ElementsAre(13, 21.5F));
  EXPECT_FALSE(test::run_checked(net.graph, fold_broadcasts));
}

TEST(FoldBroadcasts, ARepeatedNumberTakesAnyShape) {
  Unrolled net(2);
  const ValueId part = net.add("part", ir::Slice{2, 0, 1, 2}, {net.value});
  const ValueId turned = net.add("turned", ir::Transpose{{1, 0, 2}}, {part});
  net.graph.add_output(net.add("y", ir::Reshape{{kBatch, 2}}, {turned}));
  EXPECT_TRUE(test::run_checked(net.graph, fold_broadcasts));
  EXPECT_THAT(test::operators(net.graph), ElementsAre("BroadcastTo"));
}

TEST(FoldBroadcasts, AddsABiasToTheRow) {
  Unrolled net(2);
  const ValueId row = net.graph.add_constant("row", floats({2}, {1, 3}));
  const ValueId state = net.add("state", ir::BroadcastTo{{1, kBatch, 2}}, {row});
  const ValueId bias = net.graph.add_constant("bias", floats({2}, {4, 5}));
  const ValueId sum = net.add("sum", kAdd, {bias, state});
  // x has no leading axis of 1; the result has.
  net.graph.add_output(net.add("y", kAdd, {sum, net.x}));
  EXPECT_TRUE(test::run_checked(net.graph, fold_broadcasts));
  EXPECT_THAT(test::operators(net.graph), ElementsAre("Add"));
  EXPECT_THAT(test::constant_floats(net.graph, test::output_node(net.graph).inputs[0]),
              ElementsAre(5, 8));
}

TEST(FoldBroadcasts, OperandsThatGiveTheShapeStay) {
  Unrolled net(2);
  const ValueId row = net.graph.add_constant("row", floats({2}, {1, 3}));
  const ValueId state = net.add("state", ir::BroadcastTo{{3, kBatch, 2}}, {row});
  net.graph.add_output(net.add("y", kAdd, {state, net.x}));
  EXPECT_FALSE(test::run_checked(net.graph, fold_broadcasts));
}

TEST(FoldBroadcasts, RowsAreNoNumbers) {
  Graph graph;
  const ValueId row = graph.add_constant("row", floats({3}, {1, 2, 3}));
  const ValueId all = graph.add_node("all", ir::BroadcastTo{{kBatch, 3}}, {row});
  graph.add_input("x", ir::test::float_type({kBatch, 2}));
  graph.add_output(graph.add_node("y", ir::Slice{1, 1, 1, 2}, {all}));
  EXPECT_FALSE(test::run_checked(graph, fold_broadcasts));
}

}  // namespace
}  // namespace halftone::passes
