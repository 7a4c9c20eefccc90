// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/simplify.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::BinaryKind;
using ir::Graph;
using ir::kBatch;
using ir::ValueId;
using ir::test::floats;
using ir::test::kTanh;
using testing::ElementsAre;

/// x [N, 2, 3] -> Tanh -> nodes that the test adds.
struct Start {
  Graph graph;
  ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 2, 3}));
  ValueId y = graph.add_node("tanh", kTanh, {x});

  void then(ir::Operator op) { y = graph.add_node("then", std::move(op), {y}); }
  void with(BinaryKind kind, ir::Tensor constant, bool first = false, ir::Activation after = {}) {
    const ValueId c = graph.add_constant("c", std::move(constant));
    y = graph.add_node("with", ir::Binary{kind, after},
                       first ? std::vector{c, y} : std::vector{y, c});
  }
  bool run() {
    graph.add_output(y);
    return test::run_checked(graph, remove_identities);
  }
};

TEST(RemoveIdentities, RemovesIdentities) {
  const std::vector<ir::Operator> identities = {
      ir::Unary{},
      ir::Cast{ir::ElementType::kFloat32},
      ir::Reshape{{kBatch, 2, 3}},
      ir::Transpose{{0, 1, 2}},
      ir::Concat{1},
      ir::Slice{2, 0, 1, 3},
  };
  for (const ir::Operator& op : identities) {
    Start start;
    start.then(op);
    start.then(op);
    EXPECT_TRUE(start.run());
    EXPECT_THAT(test::operators(start.graph), ElementsAre("Tanh")) << ir::name_of(op);
    EXPECT_EQ(start.graph.value(start.graph.outputs()[0]).name, "then");
  }
}

TEST(RemoveIdentities, KeepsOtherOperators) {
  const ir::AffineParameters parameters{{0.5F}, {0}, 0};
  const std::vector<std::vector<ir::Operator>> chains = {
      {ir::Slice{2, 2, -1, 3}},
      {ir::Slice{1, 1, 1, 1}},
      {ir::Unary{{ir::ActivationKind::kRelu}}},
      {ir::Softmax{2}},
      {ir::Cast{ir::ElementType::kInt8}, ir::Cast{ir::ElementType::kFloat32}},
      {ir::QuantizeLinear{parameters, ir::ElementType::kInt8}, ir::DequantizeLinear{parameters}},
  };
  for (const auto& chain : chains) {
    Start start;
    for (const ir::Operator& op : chain) start.then(op);
    EXPECT_FALSE(start.run()) << ir::name_of(chain[0]);
  }
  Start square;
  square.graph.replace_node(*square.graph.producer(square.y), kTanh,
                            {square.graph.add_input("s", ir::test::float_type({2, 2}))});
  square.then(ir::Transpose{{1, 0}});
  EXPECT_FALSE(square.run()) << "equal shapes do not make a transpose an identity";
}

TEST(RemoveIdentities, ReshapesInARowBecomeOne) {
  Start start;
  start.then(ir::Reshape{{kBatch, 6}});
  start.then(ir::Reshape{{kBatch, 3, 2}});
  start.then(ir::Reshape{{kBatch, 1, 6}});
  EXPECT_TRUE(start.run());
  EXPECT_THAT(test::operators(start.graph), ElementsAre("Tanh", "Reshape"));
  Start round_trip;
  round_trip.then(ir::Reshape{{kBatch, 6}});
  round_trip.then(ir::Reshape{{kBatch, 2, 3}});
  EXPECT_TRUE(round_trip.run());
  EXPECT_THAT(test::operators(round_trip.graph), ElementsAre("Tanh"));
}

TEST(RemoveIdentities, RemovesNeutralOperands) {
  const struct {
    BinaryKind kind;
    float number;
    bool first;
    bool removed;
  } cases[] = {
      {BinaryKind::kAdd, 0, false, true},  {BinaryKind::kAdd, 0, true, true},
      {BinaryKind::kSub, 0, false, true},  {BinaryKind::kSub, 0, true, false},
      {BinaryKind::kMul, 1, false, true},  {BinaryKind::kMul, 1, true, true},
      {BinaryKind::kDiv, 1, false, true},  {BinaryKind::kDiv, 1, true, false},
      {BinaryKind::kMul, 0, false, false}, {BinaryKind::kAdd, 1, false, false},
      {BinaryKind::kMax, 0, false, false}, {BinaryKind::kPow, 1, false, false},
  };
  for (const auto& [kind, number, first, removed] : cases) {
    Start start;
    start.with(kind, floats({1, 3}, {number, number, number}), first);
    EXPECT_EQ(start.run(), removed) << to_string(kind) << number << first;
  }
}

TEST(RemoveIdentities, KeepsNeutralOperandsThatBroadcast) {
  Start start;
  start.with(BinaryKind::kAdd, ir::Tensor(ir::ElementType::kFloat32, {2, 1, 1, 1}));
  EXPECT_FALSE(start.run());
}

TEST(RemoveIdentities, ANeutralOperandLeavesItsActivation) {
  Start start;
  start.with(BinaryKind::kMul, floats({}, {1}), false, {ir::ActivationKind::kRelu});
  EXPECT_TRUE(start.run());
  EXPECT_THAT(test::operators(start.graph), ElementsAre("Tanh", "Relu"));
}

TEST(RemoveIdentities, InputsAndOutputsKeepTheirNames) {
  Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 2}));
  const ValueId y = graph.add_node("y", ir::Unary{}, {x});
  graph.add_output(y);
  EXPECT_FALSE(test::run_checked(graph, remove_identities));
  graph.add_output(graph.add_node("z", ir::Unary{}, {graph.add_node("t", kTanh, {y})}));
  EXPECT_TRUE(test::run_checked(graph, remove_identities));
  EXPECT_THAT(test::operators(graph), ElementsAre("Identity", "Tanh"));
  graph.add_output(x);
  EXPECT_FALSE(test::run_checked(graph, remove_identities));
}

TEST(RemoveIdentities, IsSafeOnRandomGraphs) {
  test::expect_safe_on_random_graphs(remove_identities);
}

}  // namespace
}  // namespace halftone::passes
