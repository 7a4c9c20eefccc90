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

const ir::DequantizeLinear kDequantize{{{0.5F}, {0}, 0}};

/// x [N, 2] + f(constants).
struct Sum {
  Graph graph;
  ValueId x = graph.add_input("x", ir::test::float_type({kBatch, 2}));

  void finish(ValueId constants) { graph.add_output(graph.add_node("y", kAdd, {x, constants})); }
};

bool fold(Graph& graph) { return fold_constants(graph); }

TEST(FoldConstants, ComputesNodesOfConstants) {
  Sum sum;
  const ValueId a = sum.graph.add_constant("a", floats({2}, {1, 2}));
  const ValueId b = sum.graph.add_constant("b", floats({1}, {10}));
  const ValueId both = sum.graph.add_node("both", kAdd, {a, b});
  sum.finish(sum.graph.add_node("tail", ir::Slice{0, 1, 1, 1}, {both}));
  EXPECT_TRUE(test::run_checked(sum.graph, fold));
  EXPECT_THAT(test::operators(sum.graph), ElementsAre("Add"));
  const ValueId folded = test::output_node(sum.graph).inputs[1];
  EXPECT_THAT(test::constant_floats(sum.graph, folded), ElementsAre(12));
  EXPECT_EQ(sum.graph.value(folded).name, "tail");
  EXPECT_EQ(sum.graph.constant(a), nullptr) << "kept a constant nobody reads";
  EXPECT_FALSE(test::run_checked(sum.graph, fold));
}

TEST(FoldConstants, LeavesLoopsToTheirPlans) {
  Sum sum;
  auto body = std::make_shared<Graph>();
  body->add_input("t", ir::dense_type(ir::ElementType::kInt64, ir::Shape{}));
  const ValueId s = body->add_input("s", ir::test::float_type({2}));
  body->add_output(body->add_node("twice", kAdd, {s, s}));
  ir::Tensor yes(ir::ElementType::kBool, ir::Shape{});
  yes.bytes()[0] = std::byte{1};
  const ValueId go = sum.graph.add_constant("go", std::move(yes));
  const ValueId first = sum.graph.add_constant("first", floats({2}, {1, 2}));
  const ir::Loop loop{.body = body, .trips = 3, .keeps = {true}};
  const ValueId record = sum.graph.add_node("loop", loop, {go, ir::kAbsent, first});
  sum.finish(sum.graph.add_node("last", ir::results_of(loop)[0], {record}));
  EXPECT_FALSE(test::run_checked(sum.graph, fold));
}

TEST(FoldConstants, AnOutputBecomesAConstantOfItsName) {
  Sum sum;
  const ValueId a = sum.graph.add_constant("a", floats({2}, {1, 2}));
  sum.finish(a);
  sum.graph.add_output(sum.graph.add_node("twice", kAdd, {a, a}));
  EXPECT_TRUE(test::run_checked(sum.graph, fold));
  EXPECT_THAT(test::constant_floats(sum.graph, sum.graph.outputs()[1]), ElementsAre(2, 4));
}

TEST(FoldConstants, IntegersStayIntegersUnlessAsked) {
  Sum sum;
  const ValueId q = sum.graph.add_constant("q", ir::test::tensor<std::int8_t>({2}, {3, -4}));
  sum.finish(sum.graph.add_node("w", kDequantize, {q}));
  EXPECT_FALSE(test::run_checked(sum.graph, fold));
  EXPECT_TRUE(test::run_checked(
      sum.graph, [](Graph& graph) { return fold_constants(graph, {.widen = true}); }));
  EXPECT_THAT(test::constant_floats(sum.graph, test::output_node(sum.graph).inputs[1]),
              ElementsAre(1.5F, -2));
}

TEST(FoldConstants, OnlyWeightsStayInSixteenBits) {
  for (const bool as_weights : {false, true}) {
    Graph graph;
    const ValueId x = graph.add_input("x", ir::test::float_type({2, 2}));
    const ValueId stored =
        graph.add_constant("w", floats({2, 2}, {1, 2, 3, 4}).cast(ir::ElementType::kFloat16));
    const ValueId w = graph.add_node("w", ir::Cast{ir::ElementType::kFloat32}, {stored});
    graph.add_output(as_weights ? graph.add_node("y", ir::FullyConnected{}, {x, w})
                                : graph.add_node("y", kAdd, {x, w}));
    EXPECT_EQ(test::run_checked(graph, fold), !as_weights);
    EXPECT_EQ(test::operators(graph).size(), as_weights ? 2U : 1U);
    EXPECT_EQ(
        test::run_checked(graph, [](Graph& each) { return fold_constants(each, {.widen = true}); }),
        as_weights);
    EXPECT_THAT(test::constant_floats(graph, test::output_node(graph).inputs[1]),
                ElementsAre(1, 2, 3, 4));
  }
}

TEST(FoldConstants, NumbersBecomeIntegers) {
  Sum sum;
  const ValueId f = sum.graph.add_constant("f", floats({2}, {1, 2}));
  const ir::QuantizeLinear quantize{kDequantize.parameters, ir::ElementType::kInt8};
  const ValueId q = sum.graph.add_node("q", quantize, {f});
  sum.finish(sum.graph.add_node("w", kDequantize, {q}));
  EXPECT_TRUE(test::run_checked(sum.graph, fold));
  EXPECT_THAT(test::operators(sum.graph), ElementsAre("DequantizeLinear", "Add"));
}

TEST(FoldConstants, CodesStayCodes) {
  Sum sum;
  const ValueId f = sum.graph.add_constant("f", floats({1, 2}, {1, 3}));
  const ValueId codes = sum.graph.add_node("codes", ir::Encode{ir::test::odd_encoding()}, {f});
  const ValueId w = sum.graph.add_constant("w", floats({2, 2}, {1, 2, 3, 4}));
  sum.finish(sum.graph.add_node("dense", ir::FullyConnected{}, {codes, w}));
  EXPECT_FALSE(test::run_checked(sum.graph, fold));
}

TEST(FoldConstants, RejectsResultsThatGrowTooMuch) {
  Sum sum;
  const ValueId column = sum.graph.add_constant("column", test::random_tensor({100, 1}, 1));
  const ValueId row = sum.graph.add_constant("row", test::random_tensor({1, 100}, 2));
  const ValueId outer = sum.graph.add_node("outer", kAdd, {column, row});
  const ValueId corner = sum.graph.add_node("corner", ir::Slice{0, 0, 1, 1}, {outer});
  sum.finish(sum.graph.add_node("tail", ir::Slice{1, 0, 1, 1}, {corner}));
  const auto limited = [](std::size_t bytes) {
    return [bytes](Graph& graph) { return fold_constants(graph, {.max_growth_bytes = bytes}); };
  };
  EXPECT_FALSE(test::run_checked(sum.graph, limited(40000 - 800 - 1)));
  EXPECT_TRUE(test::run_checked(sum.graph, limited(40000 - 800)));
}

TEST(FoldConstants, IsSafeOnRandomGraphs) { test::expect_safe_on_random_graphs(fold); }

}  // namespace
}  // namespace halftone::passes
