// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/circle/symbolic_batch.h"

#include <gtest/gtest.h>

#include "halftone/formats/circle/test_support.h"
#include "halftone/ir/text.h"

namespace halftone::formats::circle {
namespace {

using ir::kBatch;
using ir::ValueId;

ir::Graph with_input(const ir::Shape& shape) {
  ir::Graph graph;
  graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, shape));
  return graph;
}

/// Expects that the batch stays 1 and nothing changes.
void expect_unchanged(ir::Graph graph) {
  const std::string before = ir::to_text(graph);
  EXPECT_FALSE(try_symbolic_batch(graph));
  EXPECT_EQ(ir::to_text(graph), before);
}

TEST(TrySymbolicBatch, ReachesTheOutputThroughReshapes) {
  Random random(1);
  ir::Graph graph = with_input({1, 2, 3});
  const auto flat = graph.add_node("flat", ir::Reshape{{1, 6}}, {ValueId{0}});
  const auto w = graph.add_constant("w", random_tensor(random, {4, 6}));
  const auto y = graph.add_node("y", ir::FullyConnected{}, {flat, w});
  graph.add_output(graph.add_node("z", ir::Softmax{1, 1, false}, {y}));
  EXPECT_TRUE(try_symbolic_batch(graph));
  EXPECT_EQ(graph.value(flat).type.shape, (ir::Shape{kBatch, 6}));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type.shape, (ir::Shape{kBatch, 4}));
}

TEST(TrySymbolicBatch, RefusesInputsThatDoNotLeadWithOne) {
  ir::Graph two = with_input({2, 3});
  two.add_output(ValueId{0});
  expect_unchanged(two);
  ir::Graph scalar = with_input({});
  scalar.add_output(ValueId{0});
  expect_unchanged(scalar);
}

TEST(TrySymbolicBatch, RefusesAReshapeThatLosesTheLeadingOne) {
  ir::Graph graph = with_input({1, 4});
  graph.add_output(graph.add_node("y", ir::Reshape{{4}}, {ValueId{0}}));
  expect_unchanged(graph);
}

TEST(TrySymbolicBatch, RefusesAReshapeThatWouldShuffleSamples) {
  ir::Graph graph = with_input({1, 4});
  const auto turned = graph.add_node("turned", ir::Transpose{{1, 0}}, {ValueId{0}});
  graph.add_output(graph.add_node("y", ir::Reshape{{1, 4}}, {turned}));
  expect_unchanged(graph);
}

TEST(TrySymbolicBatch, RefusesSoftmaxOverTheBatch) {
  ir::Graph graph = with_input({1, 4});
  graph.add_output(graph.add_node("y", ir::Softmax{0, 1, false}, {ValueId{0}}));
  expect_unchanged(graph);
}

TEST(TrySymbolicBatch, RefusesProductsAcrossSamples) {
  ir::Graph inner = with_input({1, 4});
  inner.add_output(inner.add_node("y", ir::MatMul{true, false}, {ValueId{0}, ValueId{0}}));
  expect_unchanged(inner);
  ir::Graph outer = with_input({1, 4});
  outer.add_output(outer.add_node("y", ir::MatMul{false, true}, {ValueId{0}, ValueId{0}}));
  expect_unchanged(outer);
}

TEST(TrySymbolicBatch, RefusesToSliceTheBatch) {
  ir::Graph graph = with_input({1, 4});
  graph.add_output(graph.add_node("y", ir::Slice{0, 0, 1, 1}, {ValueId{0}}));
  expect_unchanged(graph);
}

}  // namespace
}  // namespace halftone::formats::circle
