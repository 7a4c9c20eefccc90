// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/rewrite.h"

#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::Graph;
using ir::kBatch;
using ir::ValueId;
using ir::test::float_type;
using ir::test::kRelu;

TEST(Rewrite, OnlyReaderIsOneNodeAndNoOutput) {
  Graph graph;
  const ValueId x = graph.add_input("x", float_type({kBatch}));
  EXPECT_EQ(only_reader(graph, x), std::nullopt);
  const ValueId twice = graph.add_node("twice", ir::Binary{}, {x, x});
  EXPECT_EQ(only_reader(graph, x), graph.producer(twice));
  graph.add_node("more", kRelu, {x});
  EXPECT_EQ(only_reader(graph, x), std::nullopt);
  graph.add_node("last", kRelu, {twice});
  graph.add_output(twice);
  EXPECT_EQ(only_reader(graph, twice), std::nullopt);
}

TEST(Rewrite, OutputsHandTheirNameOnWhereTheyCan) {
  Graph graph;
  const ValueId x = graph.add_input("x", float_type({kBatch}));
  const ValueId relu = graph.add_node("relu", kRelu, {x});
  const ValueId y = graph.add_node("y", ir::Unary{}, {relu});
  const ValueId z = graph.add_node("z", ir::Unary{}, {relu});
  const ValueId same = graph.add_node("same", ir::Unary{}, {x});
  for (const ValueId id : {y, z, same}) graph.add_output(id);
  EXPECT_TRUE(replace_value(graph, y, relu));
  EXPECT_EQ(graph.value(relu).name, "y");
  EXPECT_EQ(graph.producer(y), std::nullopt);
  EXPECT_FALSE(replace_value(graph, z, relu)) << "one value cannot have two names";
  EXPECT_FALSE(replace_value(graph, same, x)) << "an input keeps its name";
  EXPECT_THAT(graph.outputs(), testing::ElementsAre(relu, z, same));
  ir::verify(graph);
}

TEST(Rewrite, KnowsStoredValues) {
  Graph graph;
  const ValueId x = graph.add_input("x", ir::dense_type(ir::ElementType::kInt8, {2}));
  const ValueId q = graph.add_constant("q", ir::test::tensor<std::int8_t>({2}, {1, 2}));
  const ValueId f = graph.add_constant("f", ir::test::floats({2}, {1, 2}));
  const ir::DequantizeLinear dequantize{{{1}, {0}, 0}};
  EXPECT_TRUE(is_stored(graph, q));
  EXPECT_TRUE(is_stored(graph, graph.add_node("dq", dequantize, {q})));
  EXPECT_FALSE(is_stored(graph, x));
  EXPECT_FALSE(is_stored(graph, graph.add_node("dx", dequantize, {x})));
  EXPECT_FALSE(is_stored(graph, graph.add_node("relu", kRelu, {f})));
  EXPECT_NE(dense_constant(graph, q), nullptr);
  EXPECT_EQ(float_constant(graph, q), nullptr);
  EXPECT_NE(float_constant(graph, f), nullptr);
  EXPECT_EQ(float_constant(graph, ir::kAbsent), nullptr);
}

TEST(Rewrite, ReplacementsOfSharedConstantsHaveNewNames) {
  Graph graph;
  const ValueId x = graph.add_input("x", float_type({kBatch, 2, 2}));
  const ValueId c = graph.add_constant("c", ir::test::floats({2, 2}, {1, 2, 3, 4}));
  graph.add_node("a", ir::Binary{}, {x, c});
  EXPECT_EQ(replacement_name(graph, c), "c");
  graph.add_node("b", ir::Binary{}, {x, c});
  const ValueId transposed = transpose_constant(graph, c, {1, 0});
  EXPECT_NE(graph.value(transposed).name, "c");
  EXPECT_THAT(test::constant_floats(graph, transposed), testing::ElementsAre(1, 3, 2, 4));
}

}  // namespace
}  // namespace halftone::passes
