// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/simplify.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::Graph;
using ir::kBatch;
using ir::Transpose;
using ir::ValueId;
using ir::test::kAdd;
using ir::test::kTanh;
using testing::ElementsAre;
using testing::IsEmpty;

const Transpose kThere{{2, 0, 1}};
const Transpose kBack{{1, 2, 0}};

/// x and z, [N, 2, 3] each.
struct Pair {
  Graph graph;
  ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 2, 3}));
  ValueId z = graph.add_input("z", ir::test::float_type({kBatch, 2, 3}));

  ValueId node(ir::Operator op, std::vector<ValueId> inputs) {
    return graph.add_node("n" + std::to_string(graph.num_values()), std::move(op),
                          std::move(inputs));
  }
  /// Ends with a transpose back and a Tanh, so that all transposes may go.
  bool run(ValueId transposed) {
    graph.add_output(node(kTanh, {node(kBack, {transposed})}));
    bool changed = false;
    while (test::run_checked(graph, remove_transposes)) changed = true;
    return changed;
  }
};

TEST(RemoveTransposes, TwoInARowBecomeOneOrNone) {
  Pair none;
  EXPECT_TRUE(none.run(none.node(kThere, {none.x})));
  EXPECT_THAT(test::operators(none.graph), ElementsAre("Tanh"));
  Pair one;
  EXPECT_TRUE(one.run(one.node(kBack, {one.node(kTanh, {one.x})})));
  EXPECT_THAT(test::operators(one.graph), ElementsAre("Tanh", "Tanh", "Transpose"));
  EXPECT_EQ(test::output_node(one.graph).op, ir::Operator(kThere));
}

TEST(RemoveTransposes, PassesOperatorsThatRemoveAxes) {
  const ir::Operator cases[] = {
      ir::Reduce{ir::ReduceKind::kMean, {0, 2}, true},
      ir::Reduce{ir::ReduceKind::kMax, {2}, false},
      ir::Reduce{ir::ReduceKind::kSum, {0, 2}, false},
      ir::Reduce{ir::ReduceKind::kSum, {}, false},
      ir::ArgReduce{0, true, false, false},
      ir::ArgReduce{2, true, false, true},
      ir::CumSum{2, false, true},
      ir::TopK{2, 1, true},
      ir::Normalize{{0, 2}, 0.5F, true},
      ir::LocalNormalize{2, 1, 0},
      ir::Tile{{2, 1, 3}},
      ir::Pad{ir::PadMode::kEdge, {1, 0, 2}, {0, 0, 3}},
      ir::Resize{2, 5, 2.5},
  };
  for (const ir::Operator& op : cases) {
    Pair pair;
    const ValueId y = pair.node(op, {pair.node(kThere, {pair.x})});
    pair.graph.add_output(pair.node(ir::Cast{}, {y}));
    SCOPED_TRACE(std::string(name_of(op)) + " " + attributes_of(op));
    EXPECT_TRUE(test::run_checked(pair.graph, remove_transposes));
    const ir::Graph& graph = pair.graph;
    EXPECT_EQ(graph.node(graph.topological_order().front()).op.index(), op.index());
  }
}

TEST(RemoveTransposes, KeepTheValueOfAPad) {
  Pair pair;
  const ValueId value = pair.graph.add_constant("v", ir::test::floats({}, {7}));
  const ir::Pad pad{ir::PadMode::kConstant, {1, 0, 2}, {0, 0, 3}};
  EXPECT_TRUE(pair.run(pair.node(pad, {pair.node(kThere, {pair.x}), value})));
  EXPECT_THAT(test::operators(pair.graph), ElementsAre("Pad", "Tanh"));
}

TEST(RemoveTransposes, PassesOperatorsThatMapAxes) {
  const ir::AffineParameters along_first{{0.5F, 1, 2}, {0, 1, 2}, 0};
  const std::vector<std::vector<ir::Operator>> chains = {
      {kTanh},
      {ir::Softmax{0}},
      {ir::Softmax{2}},
      {ir::Slice{0, 2, -1, 2}},
      {ir::Concat{2}},
      {ir::QuantizeLinear{along_first, ir::ElementType::kInt8}, ir::DequantizeLinear{along_first}},
      {ir::QuantizeLinear{{{1}, {0}, 7}, ir::ElementType::kInt8}, ir::Cast{}},
      {ir::Pad{ir::PadMode::kEdge, {1, 0, 0}, {0, 0, 2}}},
      {ir::Tile{{2, 1, 1}}},
      {ir::CumSum{0, false, true}},
      {ir::Normalize{{0, 2}, 1e-3F, true}},
      {ir::Reduce{ir::ReduceKind::kMean, {0, 2}, true}},
      {ir::Resize{0, 5, 2}},
  };
  for (const auto& chain : chains) {
    Pair pair;
    ValueId y = pair.node(kThere, {pair.x});
    for (const ir::Operator& op : chain) y = pair.node(op, {y});
    EXPECT_TRUE(pair.run(y));
    EXPECT_THAT(test::operators(pair.graph), testing::Not(testing::Contains("Transpose")))
        << ir::name_of(chain[0]);
  }
}

TEST(RemoveTransposes, OperandsTransposedAlikeMeet) {
  Pair alike;
  const ValueId x = alike.node(kThere, {alike.x});
  const ValueId z = alike.node(kThere, {alike.z});
  EXPECT_TRUE(alike.run(alike.node(ir::Concat{2}, {alike.node(kAdd, {x, z}), x})));
  EXPECT_THAT(test::operators(alike.graph), testing::Not(testing::Contains("Transpose")))
      << "both who read a transpose let it pass";
  Pair joined;
  EXPECT_TRUE(joined.run(joined.node(
      ir::Concat{2}, {joined.node(kThere, {joined.x}), joined.node(kThere, {joined.z})})));
  EXPECT_THAT(test::operators(joined.graph), ElementsAre("Concat", "Tanh"));
  Pair twice;
  const ValueId t = twice.node(kThere, {twice.x});
  EXPECT_TRUE(twice.run(twice.node(kAdd, {t, t})));
  EXPECT_THAT(test::operators(twice.graph), ElementsAre("Add", "Tanh"));
}

TEST(RemoveTransposes, ConstantsAreTransposedTheOtherWay) {
  for (const ir::Shape& shape : {ir::Shape{}, ir::Shape{1}, ir::Shape{2}, ir::Shape{3, 1, 1},
                                 ir::Shape{3, 1, 2}, ir::Shape{1, 2}}) {
    for (const bool first : {false, true}) {
      Pair pair;
      const ValueId c = pair.graph.add_constant("c", test::random_tensor(shape, 9));
      const ValueId t = pair.node(kThere, {pair.x});
      EXPECT_TRUE(pair.run(pair.node(kAdd, first ? std::vector{c, t} : std::vector{t, c})));
      EXPECT_THAT(test::operators(pair.graph), ElementsAre("Add", "Tanh")) << shape.to_string();
    }
  }
}

TEST(RemoveTransposes, StaysWhereItCannotPass) {
  Pair broadcast;
  const ValueId c = broadcast.graph.add_constant("c", test::random_tensor({2, 1, 1, 1}, 9));
  const ValueId t = broadcast.node(kThere, {broadcast.x});
  broadcast.graph.add_output(broadcast.node(kAdd, {t, c}));
  EXPECT_FALSE(test::run_checked(broadcast.graph, remove_transposes));

  Pair apart;
  const ValueId there = apart.node(kThere, {apart.x});
  const ValueId other =
      apart.node(Transpose{{2, 1, 0}}, {apart.node(Transpose{{0, 2, 1}}, {apart.z})});
  apart.graph.add_output(
      apart.node(ir::FullyConnected{},
                 {there, apart.graph.add_constant("w", test::random_tensor({4, 2}, 1))}));
  apart.graph.add_output(other);
  EXPECT_TRUE(test::run_checked(apart.graph, remove_transposes));
  EXPECT_THAT(test::operators(apart.graph),
              ElementsAre("Transpose", "Transpose", "FullyConnected"));
}

TEST(RemoveTransposes, ReplacesTransposesOfTrivialAxesByReshapes) {
  Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 1, 4, 3}));
  graph.add_output(graph.add_node("nhwc", Transpose{{0, 2, 3, 1}}, {x}));
  EXPECT_TRUE(test::run_checked(graph, remove_transposes));
  EXPECT_THAT(test::operators(graph), ElementsAre("Reshape"));
}

TEST(RemoveTransposes, DequantizedConstantsAreTransposedThemselves) {
  for (const ir::AffineParameters& parameters :
       {ir::AffineParameters{{0.5F}, {1}, 0}, ir::AffineParameters{{0.5F, 1, 2}, {0, 1, 2}, 1}}) {
    Graph graph;
    const ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 2}));
    const ValueId q =
        graph.add_constant("q", test::random_tensor({2, 3}, 5).cast(ir::ElementType::kInt8));
    const ValueId w = graph.add_node("w", ir::DequantizeLinear{parameters}, {q});
    const ValueId wt = graph.add_node("wt", Transpose{{1, 0}}, {w});
    graph.add_output(graph.add_node("y", ir::FullyConnected{}, {x, wt}));
    EXPECT_TRUE(test::run_checked(graph, remove_transposes));
    EXPECT_THAT(test::operators(graph), ElementsAre("DequantizeLinear", "FullyConnected"));
    EXPECT_FALSE(test::run_checked(graph, remove_transposes));
  }
}

// Weights [O, C, h, w] of a depthwise, a one-channel and a 1 x 1 convolution: the transpose only
// moves axes of extent 1, and the weights are integers of the layer all the same.
TEST(RemoveTransposes, DequantizedWeightsAreTransposedThemselvesWhereThatIsAReshape) {
  for (const ir::Shape& shape : {ir::Shape{4, 1, 3, 3}, ir::Shape{4, 3, 1, 1}}) {
    Graph graph;
    const bool is_depthwise = shape[1] == 1;
    const ValueId x =
        graph.add_input("x", ir::test::float_type({kBatch, 5, 5, is_depthwise ? 4 : 3}));
    const ValueId q =
        graph.add_constant("q", test::random_tensor(shape, 5).cast(ir::ElementType::kInt8));
    const ir::AffineParameters parameters{{0.5F, 1, 2, 3}, {0, 0, 0, 0}, 0};
    const ValueId w = graph.add_node("w", ir::DequantizeLinear{parameters}, {q});
    const ValueId last = graph.add_node("last", Transpose{{0, 2, 3, 1}}, {w});
    const ir::Conv conv{ir::plain_window(2), is_depthwise ? 4 : 1};
    graph.add_output(graph.add_node("y", conv, {x, last}));
    EXPECT_TRUE(test::run_checked(graph, remove_transposes));
    EXPECT_THAT(test::operators(graph), ElementsAre("DequantizeLinear", "Conv"));
  }
}

TEST(RemoveTransposes, WeightsOfSixteenBitsAreTransposedThemselves) {
  Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 2}));
  const ValueId stored =
      graph.add_constant("w", test::random_tensor({2, 3}, 5).cast(ir::ElementType::kFloat16));
  const ValueId w = graph.add_node("w", ir::Cast{ir::ElementType::kFloat32}, {stored});
  const ValueId wt = graph.add_node("wt", Transpose{{1, 0}}, {w});
  graph.add_output(graph.add_node("y", ir::FullyConnected{}, {x, wt}));
  EXPECT_TRUE(test::run_checked(graph, remove_transposes));
  EXPECT_THAT(test::operators(graph), ElementsAre("Cast", "FullyConnected"));
}

TEST(RemoveTransposes, OutputsKeepTheirNames) {
  Graph graph;
  const ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 2, 3}));
  const ValueId there = graph.add_node("there", kThere, {x});
  graph.add_output(graph.add_node("back", kBack, {there}));
  EXPECT_TRUE(test::run_checked(graph, remove_transposes));
  EXPECT_THAT(test::operators(graph), ElementsAre("Transpose")) << "x and back are both named";
  EXPECT_FALSE(test::run_checked(graph, remove_transposes));
}

TEST(RemoveTransposes, IsSafeOnRandomGraphs) {
  test::expect_safe_on_random_graphs(remove_transposes);
}

}  // namespace
}  // namespace halftone::passes
