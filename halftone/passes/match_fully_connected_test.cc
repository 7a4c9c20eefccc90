// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/simplify.h"
#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::Graph;
using ir::kBatch;
using ir::MatMul;
using ir::Shape;
using ir::ValueId;
using testing::ElementsAre;

struct Product {
  Graph graph;
  ValueId x;

  explicit Product(Shape input) : x(graph.add_input("x", ir::test::float_type(std::move(input)))) {}
  ValueId stored(Shape shape) {
    return graph.add_constant("w", test::random_tensor(std::move(shape), 3));
  }
  void finish(MatMul op, ValueId matrix) { graph.add_output(graph.add_node("y", op, {x, matrix})); }
};

TEST(MatchFullyConnected, TakesStoredMatricesForInputsOfAnyRank) {
  for (const Shape& input : {Shape{3}, Shape{kBatch, 3}, Shape{kBatch, 2, 3}}) {
    for (const bool transpose : {false, true}) {
      Product product(input);
      product.finish({false, transpose}, product.stored(transpose ? Shape{4, 3} : Shape{3, 4}));
      EXPECT_TRUE(test::run_checked(product.graph, match_fully_connected));
      EXPECT_THAT(test::operators(product.graph), ElementsAre("FullyConnected"));
      const ValueId weights = test::output_node(product.graph).inputs[1];
      EXPECT_EQ(product.graph.value(weights).name, "w");
      EXPECT_EQ(product.graph.value(weights).type.shape, (Shape{4, 3}));
      EXPECT_FALSE(test::run_checked(product.graph, match_fully_connected));
    }
  }
}

TEST(MatchFullyConnected, SharedMatricesStayShared) {
  Product product({kBatch, 3});
  const ValueId w = product.stored({3, 3});
  const ValueId hidden = product.graph.add_node("hidden", MatMul{}, {product.x, w});
  product.graph.add_output(product.graph.add_node("y", MatMul{}, {hidden, w}));
  EXPECT_TRUE(test::run_checked(product.graph, match_fully_connected));
  const ir::Node& y = test::output_node(product.graph);
  EXPECT_EQ(y.inputs[1], product.graph.node(*product.graph.producer(y.inputs[0])).inputs[1]);
}

TEST(MatchFullyConnected, DequantizedMatricesStayIntegers) {
  Product product({kBatch, 3});
  const ValueId q =
      product.graph.add_constant("q", test::random_tensor({3, 4}, 5).cast(ir::ElementType::kInt8));
  const ir::DequantizeLinear dequantize{{{0.5F, 1, 2, 4}, {0, 1, 2, 3}, 1}};
  product.finish({}, product.graph.add_node("w", dequantize, {q}));
  EXPECT_TRUE(test::run_checked(product.graph, match_fully_connected));
  EXPECT_THAT(test::operators(product.graph),
              ElementsAre("DequantizeLinear", "Transpose", "FullyConnected"));
}

TEST(MatchFullyConnected, KeepsOtherProducts) {
  Product square({3, 3});
  square.finish({true, false}, square.stored({3, 4}));
  EXPECT_FALSE(test::run_checked(square.graph, match_fully_connected));
  Product batched({2, 2, 3});
  batched.finish({}, batched.stored({2, 3, 4}));
  EXPECT_FALSE(test::run_checked(batched.graph, match_fully_connected));
  Product vector({kBatch, 3});
  vector.finish({}, vector.stored({3}));
  EXPECT_FALSE(test::run_checked(vector.graph, match_fully_connected));
  Product computed({3, 3});
  computed.finish({}, computed.x);
  EXPECT_FALSE(test::run_checked(computed.graph, match_fully_connected));
}

TEST(MatchFullyConnected, IsSafeOnRandomGraphs) {
  test::expect_safe_on_random_graphs(match_fully_connected);
}

}  // namespace
}  // namespace halftone::passes
