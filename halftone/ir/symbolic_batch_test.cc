// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/symbolic_batch.h"

#include <gtest/gtest.h>

#include "halftone/ir/testing.h"
#include "halftone/ir/text.h"

namespace halftone::ir {
namespace {

Graph with_input(const Shape& shape) {
  Graph graph;
  graph.add_input("x", dense_type(ElementType::kFloat32, shape));
  return graph;
}

/// Expects that the batch stays 1 and the graph unchanged.
void expect_unchanged(Graph graph) {
  const std::string before = to_text(graph);
  EXPECT_FALSE(try_symbolic_batch(graph));
  EXPECT_EQ(to_text(graph), before);
}

TEST(FixedBatch, IsTheFirstExtentUnlessItIsSymbolic) {
  EXPECT_EQ(fixed_batch(with_input({kBatch, 4})), std::nullopt);
  EXPECT_EQ(fixed_batch(with_input({4, kBatch})), std::nullopt);
  EXPECT_EQ(fixed_batch(with_input({3, 4})), 3u);
  EXPECT_EQ(fixed_batch(with_input({0, 4})), 1u);
  EXPECT_EQ(fixed_batch(with_input({})), 1u);
  EXPECT_EQ(fixed_batch(Graph()), 1u);
  Graph second = with_input({3, 4});
  second.add_input("symbolic", dense_type(ElementType::kFloat32, {kBatch}));
  EXPECT_EQ(fixed_batch(second), std::nullopt);
}

TEST(FillInBatch, ReplacesExtentsAndAttributes) {
  Graph graph = with_input({kBatch, 2, 3});
  const auto flat = graph.add_node("flat", Reshape{{kBatch, 6}}, {ValueId{0}});
  graph.add_output(flat);
  fill_in_batch(graph, 5);
  EXPECT_EQ(graph.value(graph.inputs()[0]).type.shape, (Shape{5, 2, 3}));
  EXPECT_EQ(graph.value(flat).type.shape, (Shape{5, 6}));
}

TEST(TrySymbolicBatch, ReachesTheOutputThroughReshapes) {
  Graph graph = with_input({1, 2, 3});
  const auto flat = graph.add_node("flat", Reshape{{1, 6}}, {ValueId{0}});
  const auto w = graph.add_constant("w", test::counting({4, 6}));
  const auto y = graph.add_node("y", FullyConnected{}, {flat, w});
  graph.add_output(graph.add_node("z", Softmax{1, 1, false}, {y}));
  EXPECT_TRUE(try_symbolic_batch(graph));
  EXPECT_EQ(graph.value(flat).type.shape, (Shape{kBatch, 6}));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (Shape{kBatch, 4}));
}

TEST(TrySymbolicBatch, RejectsInputsWithoutAnExtentOfOne) {
  Graph two = with_input({2, 3});
  two.add_output(ValueId{0});
  expect_unchanged(two);
  Graph scalar = with_input({});
  scalar.add_output(ValueId{0});
  expect_unchanged(scalar);
}

TEST(TrySymbolicBatch, KeepsTheBatchBehindTheElementsBeforeIt) {
  struct Case {
    Shape input;
    Shape target;
    Shape with_batch;
  };
  const Case cases[] = {
      {{1, 4}, {4}, {-4}},
      {{1, 4}, {2, 2}, {-2, 2}},
      {{20, 1, 24}, {20, 8, 3}, {20, -8, 3}},
      {{20, 1, 24}, {1, 20, 1, 24}, {1, 20, kBatch, 24}},
      {{20, 1, 24}, {20, 24}, {20, -24}},
  };
  for (const Case& each : cases) {
    Graph graph = with_input(each.input);
    graph.add_output(graph.add_node("y", Reshape{each.target}, {ValueId{0}}));
    EXPECT_TRUE(try_symbolic_batch(graph));
    EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, each.with_batch);
  }
  Graph lost = with_input({20, 1, 24});
  lost.add_output(lost.add_node("y", Reshape{{10, 48}}, {ValueId{0}}));
  expect_unchanged(lost);
}

TEST(TrySymbolicBatch, RepeatsConstantsBesideSamples) {
  Graph graph = with_input({1, 3, 2});
  const auto token = graph.add_constant("token", test::counting({1, 1, 2}));
  graph.add_output(graph.add_node("y", Concat{1}, {token, ValueId{0}}));
  EXPECT_TRUE(try_symbolic_batch(graph));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (Shape{kBatch, 4, 2}));
}

TEST(TrySymbolicBatch, RejectsAReshapeThatWouldShuffleSamples) {
  Graph graph = with_input({1, 4});
  const auto turned = graph.add_node("turned", Transpose{{1, 0}}, {ValueId{0}});
  graph.add_output(graph.add_node("y", Reshape{{1, 4}}, {turned}));
  expect_unchanged(graph);
}

TEST(TrySymbolicBatch, RejectsSoftmaxOverTheBatch) {
  Graph graph = with_input({1, 4});
  graph.add_output(graph.add_node("y", Softmax{0, 1, false}, {ValueId{0}}));
  expect_unchanged(graph);
}

TEST(TrySymbolicBatch, RejectsProductsAcrossSamples) {
  Graph inner = with_input({1, 4});
  inner.add_output(inner.add_node("y", MatMul{true, false}, {ValueId{0}, ValueId{0}}));
  expect_unchanged(inner);
  Graph outer = with_input({1, 4});
  outer.add_output(outer.add_node("y", MatMul{false, true}, {ValueId{0}, ValueId{0}}));
  expect_unchanged(outer);
}

TEST(TrySymbolicBatch, RejectsToSliceTheBatch) {
  Graph graph = with_input({1, 4});
  graph.add_output(graph.add_node("y", Slice{0, 0, 1, 1}, {ValueId{0}}));
  expect_unchanged(graph);
}

TEST(TrySymbolicBatch, AcceptsOperatorsThatKeepSamplesSeparate) {
  const Activation none;
  const struct {
    Operator op;
    std::vector<Shape> constants;  ///< inputs after x
  } cases[] = {
      {Reduce{ReduceKind::kMean, {1}, false}, {}},
      {ArgReduce{1}, {}},
      {CumSum{1}, {}},
      {TopK{2, 2, true}, {}},
      {Pad{PadMode::kReflect, {0, 1, 1}, {0, 0, 1}}, {}},
      {BroadcastTo{{1, 3, 4}}, {}},
      {Tile{{1, 2, 1}}, {}},
      {Resize{1, 6, 2}, {}},
      {Normalize{{2}, 1e-5F, true}, {}},
      {LocalNormalize{1, 1, 1}, {}},
      {Binary{BinaryKind::kLess, none}, {{3, 4}}},
  };
  for (const auto& [op, constants] : cases) {
    Graph graph = with_input({1, 3, 4});
    std::vector<ValueId> inputs{ValueId{0}};
    for (const Shape& shape : constants) {
      inputs.push_back(graph.add_constant("c", test::counting(shape)));
    }
    graph.add_output(graph.add_node("y", op, inputs));
    EXPECT_TRUE(try_symbolic_batch(graph)) << name_of(op);
    EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape[0], kBatch) << name_of(op);
  }
}

TEST(TrySymbolicBatch, RejectsOperatorsThatMixSamples) {
  const Operator cases[] = {Reduce{ReduceKind::kMean, {0}, false},
                            ArgReduce{0},
                            CumSum{0},
                            TopK{0, 1, true},
                            Pad{PadMode::kEdge, {1, 0}, {0, 0}},
                            Tile{{2, 1}},
                            Resize{0, 2, 2},
                            Normalize{{0}, 1e-5F, true},
                            LocalNormalize{0, 1, 1}};
  for (const Operator& op : cases) {
    Graph graph = with_input({1, 4});
    graph.add_output(graph.add_node("y", op, {ValueId{0}}));
    expect_unchanged(graph);
  }
}

TEST(TrySymbolicBatch, LooksUpTablesForEachSample) {
  Graph graph;
  const auto indices = graph.add_input("i", dense_type(ElementType::kInt64, {1, 5}));
  const auto table = graph.add_constant("table", test::counting({10, 4}));
  graph.add_output(graph.add_node("y", Gather{0}, {table, indices}));
  EXPECT_TRUE(try_symbolic_batch(graph));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (Shape{kBatch, 5, 4}));
}

TEST(TrySymbolicBatch, RejectsToScatterSamplesIntoOneTensor) {
  Graph graph;
  const auto indices = graph.add_input("i", dense_type(ElementType::kInt64, {1, 1}));
  const auto updates = graph.add_input("u", dense_type(ElementType::kFloat32, {1}));
  const auto table = graph.add_constant("table", test::counting({10}));
  graph.add_output(graph.add_node("y", ScatterND{}, {table, indices, updates}));
  expect_unchanged(graph);
}

TEST(TrySymbolicBatch, AcceptsRecurrentLayers) {
  Graph graph = with_input({1, 5, 8});
  const auto weights = graph.add_constant("r", test::counting({8, 2}));
  const auto first = graph.add_constant("h", test::counting({1, 2}));
  Recurrent layer;
  layer.batch_major = true;
  graph.add_output(graph.add_node("y", layer, {ValueId{0}, weights, kAbsent, first}));
  EXPECT_TRUE(try_symbolic_batch(graph));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (Shape{kBatch, 5, 2}));
  Graph steps_first = with_input({5, 1, 8});
  const auto r = steps_first.add_constant("r", test::counting({8, 2}));
  steps_first.add_output(steps_first.add_node("y", Recurrent{}, {ValueId{0}, r}));
  EXPECT_TRUE(try_symbolic_batch(steps_first));
  EXPECT_EQ(steps_first.value(steps_first.outputs()[0]).type.shape, (Shape{5, kBatch, 2}));
}

}  // namespace
}  // namespace halftone::ir
