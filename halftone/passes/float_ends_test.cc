// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/text.h"
#include "halftone/passes/decode_codes.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::ElementType;

/// Codes, dequantized, their tanh, quantized again.
ir::Graph narrow_network() {
  ir::Graph graph;
  const auto q = graph.add_input("x", ir::dense_type(ElementType::kInt8, {ir::kBatch, 3}));
  const auto x = graph.add_node("numbers", ir::DequantizeLinear{{{0.5F}, {1}, 0}}, {q});
  const auto y = graph.add_node("tanh", ir::Unary{{ir::ActivationKind::kTanh, 0, 0}}, {x});
  graph.add_output(
      graph.add_node("y", ir::QuantizeLinear{{{0.25F}, {0}, 0}, ElementType::kInt8}, {y}));
  return graph;
}

TEST(GiveFloatEnds, ConvertsAtInputsAndOutputs) {
  ir::Graph graph = narrow_network();
  EXPECT_TRUE(give_float_ends(graph));
  ir::verify(graph);
  EXPECT_EQ(graph.value(graph.inputs()[0]).type, ir::test::float_type({ir::kBatch, 3}));
  EXPECT_EQ(graph.value(graph.outputs()[0]).type, ir::test::float_type({ir::kBatch, 3}));
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "y");
  const auto inputs = ir::test::list(ir::test::floats({1, 3}, {0.6F, -0.4F, 90}));
  const auto y = ir::test::run_reference(graph, inputs);
  // 0.6 becomes 0.5, -0.4 becomes -0.5; outputs are multiples of 0.25.
  EXPECT_THAT(ir::test::elements<float>(y[0]), ::testing::ElementsAre(0.5F, -0.5F, 1));
  EXPECT_FALSE(give_float_ends(graph));
}

/// Codes that are reshaped, halved and turned around: no conversion is next to an end.
ir::Graph network_of_moves() {
  ir::Graph graph;
  const auto q = graph.add_input("x", ir::dense_type(ElementType::kUint8, {ir::kBatch, 4}));
  const auto matrix = graph.add_node("matrix", ir::Reshape{{ir::kBatch, 2, 2}}, {q});
  const auto x = graph.add_node("numbers", ir::DequantizeLinear{{{0.5F}, {2}, 0}}, {matrix});
  const auto f = graph.add_node("tanh", ir::Unary{{ir::ActivationKind::kTanh, 0, 0}}, {x});
  const auto p =
      graph.add_node("p", ir::QuantizeLinear{{{0.25F}, {8}, 0}, ElementType::kUint8}, {f});
  const auto row = graph.add_node("row", ir::Slice{1, 1, 1, 1}, {p});
  graph.add_output(graph.add_node("y", ir::Transpose{{0, 2, 1}}, {row}));
  graph.add_output(graph.add_node("z", ir::Reshape{{ir::kBatch, 4}}, {q}));
  return graph;
}

TEST(GiveFloatEnds, FindsConversionsBehindMovedElements) {
  ir::Graph graph = network_of_moves();
  EXPECT_TRUE(give_float_ends(graph));
  ir::verify(graph);
  EXPECT_EQ(graph.value(graph.inputs()[0]).type, ir::test::float_type({ir::kBatch, 4}));
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "y");
  const auto inputs = ir::test::list(ir::test::floats({1, 4}, {9, 9, 0.6F, -0.4F}));
  const auto y = ir::test::run_reference(graph, inputs);
  EXPECT_THAT(ir::test::elements<float>(y[0]), ::testing::ElementsAre(0.5F, -0.5F));
  EXPECT_THAT(ir::test::elements<float>(y[1]), ::testing::ElementsAre(9, 9, 0.5F, -0.5F));
}

TEST(RestoreEnds, GivesMovedElementsBack) {
  const ir::Graph original = network_of_moves();
  ir::Graph graph = original;
  give_float_ends(graph);
  EXPECT_TRUE(restore_ends(graph, original));
  ir::verify(graph);
  EXPECT_EQ(ir::to_text(graph), ir::to_text(original));
}

TEST(RestoreEnds, FindsConversionsBehindMovedFloats) {
  ir::Graph original;
  const auto q = original.add_input("x", ir::dense_type(ElementType::kInt8, {ir::kBatch, 2, 3}));
  const auto x = original.add_node("numbers", ir::DequantizeLinear{{{0.5F}, {1}, 0}}, {q});
  original.add_output(
      original.add_node("y", ir::QuantizeLinear{{{0.25F}, {0}, 0}, ElementType::kInt8}, {x}));
  ir::Graph graph;
  const auto f = graph.add_input("x", ir::test::float_type({ir::kBatch, 2, 3}));
  const auto turned = graph.add_node("turned", ir::Transpose{{0, 2, 1}}, {f});
  const auto p =
      graph.add_node("p", ir::QuantizeLinear{{{0.5F}, {1}, 0}, ElementType::kInt8}, {turned});
  const auto back = graph.add_node("back", ir::DequantizeLinear{{{0.5F}, {1}, 0}}, {p});
  graph.add_output(graph.add_node("y", ir::Transpose{{0, 2, 1}}, {back}));
  EXPECT_TRUE(restore_ends(graph, original));
  ir::verify(graph);
  EXPECT_EQ(graph.value(graph.inputs()[0]).type, original.value(q).type);
  EXPECT_EQ(graph.value(graph.outputs()[0]).type, original.value(q).type);
  EXPECT_EQ(graph.value(graph.outputs()[0]).name, "y");
  ir::Tensor codes(ElementType::kInt8, {1, 2, 3});
  for (std::size_t i = 0; i < 6; ++i) codes.as<std::int8_t>()[i] = static_cast<std::int8_t>(i);
  const auto y = ir::test::run_reference(graph, ir::test::list(codes.clone()));
  EXPECT_EQ(ir::test::elements<std::int8_t>(y[0]), ir::test::elements<std::int8_t>(codes));
}

TEST(RestoreEnds, GivesTheNetworkBack) {
  const ir::Graph original = narrow_network();
  ir::Graph graph = original;
  give_float_ends(graph);
  EXPECT_TRUE(restore_ends(graph, original));
  ir::verify(graph);
  EXPECT_EQ(ir::to_text(graph), ir::to_text(original));
  EXPECT_FALSE(restore_ends(graph, original));
}

TEST(RestoreEnds, KeepsFloatsWithoutConversions) {
  const ir::Graph original = narrow_network();
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::test::float_type({ir::kBatch, 3}));
  graph.add_output(graph.add_node("y", ir::Unary{{ir::ActivationKind::kTanh, 0, 0}}, {x}));
  const std::string before = ir::to_text(graph);
  EXPECT_FALSE(restore_ends(graph, original));
  EXPECT_EQ(ir::to_text(graph), before);
}

TEST(GiveFloatEnds, KeepsOtherEnds) {
  ir::Graph graph;
  const auto x = graph.add_input("x", ir::dense_type(ElementType::kInt8, {ir::kBatch, 3}));
  const auto y = graph.add_input("y", ir::test::float_type({ir::kBatch, 3}));
  graph.add_output(x);
  graph.add_output(y);
  EXPECT_FALSE(give_float_ends(graph));
}

}  // namespace
}  // namespace halftone::passes
