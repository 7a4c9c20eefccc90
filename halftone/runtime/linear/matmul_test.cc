// SPDX-License-Identifier: Apache-2.0
// Matrix products whose sums have a fixed order.
#include <gtest/gtest.h>

#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::Shape;

struct MatMulCase {
  std::string name;
  ir::MatMul op;
  Shape a;
  Shape b;
};

/// Random operands, and a product whose right operand is computed or constant.
struct MatMulGraph {
  MatMulGraph(const MatMulCase& test, bool constant) {
    Random random(29);
    inputs.push_back(testing::random_tensor(test.a, random));
    inputs.push_back(testing::random_tensor(test.b, random));
    const auto a = graph.add_input("a", ir::test::float_type(test.a));
    const auto b = constant ? graph.add_constant("b", inputs[1].reshaped(test.b))
                            : graph.add_input("b", ir::test::float_type(test.b));
    const std::vector<ir::ValueId> operands = {a, b};
    graph.add_output(graph.add_node("node", test.op, operands));
  }

  /// The result in the fixed order of sums.
  [[nodiscard]] std::vector<ir::Tensor> run(int threads) const {
    const auto plan =
        make_plan(graph, {.threads = threads, .execution = {.float_order = FloatOrder::kFixed}});
    EXPECT_EQ(testing::kernel_of(*plan), "fixed_order_f32");
    return Session(plan).run(std::span(inputs).first(graph.inputs().size()));
  }

  ir::Graph graph;
  std::vector<ir::Tensor> inputs;
};

class FixedMatMul : public ::testing::TestWithParam<MatMulCase> {};

TEST_P(FixedMatMul, IsTheSameOnAnyNumberOfThreads) {
  const MatMulCase& test = GetParam();
  const MatMulGraph computed(test, false);
  const auto expected = computed.run(1);
  // At most 400 terms of about 1, each rounded in as many sums.
  ir::test::expect_near(
      expected, ir::test::list(ir::test::evaluate(test.op, computed.inputs[0], computed.inputs[1])),
      400 * 400 * 0x1p-24F);
  for (const bool constant : {false, true}) {
    const MatMulGraph product(test, constant);
    for (const int threads : {1, 2, 3, 5}) {
      EXPECT_TRUE(testing::same_bytes(product.run(threads), expected)) << constant << threads;
    }
  }
}

std::vector<MatMulCase> matmul_cases() {
  return {
      {"Small", {}, {3, 20}, {20, 17}},
      {"Heads", {}, {8, 130, 64}, {8, 64, 100}},
      {"HeadsTransposed", {false, true}, {8, 130, 64}, {8, 100, 64}},
      {"TransposedA", {true, false}, {5, 64, 130}, {5, 64, 100}},
      {"BothTransposed", {true, true}, {64, 300}, {150, 64}},
      {"FewColumns", {}, {2000, 300}, {300, 9}},
      {"FewRows", {}, {12, 400}, {400, 1003}},
      {"FewRowsTransposed", {false, true}, {12, 400}, {1003, 400}},
      {"OneRowOfHeads", {}, {12, 1, 128}, {12, 128, 1003}},
      {"OneRightOperand", {}, {7, 40, 100}, {100, 90}},
      {"OneRightOperandTransposedA", {true, false}, {7, 100, 40}, {100, 90}},
      {"Vectors", {}, {400}, {400}},
  };
}

INSTANTIATE_TEST_SUITE_P(Products, FixedMatMul, ::testing::ValuesIn(matmul_cases()),
                         [](const auto& product) { return product.param.name; });

TEST(FixedMatMul, HasTheBitsOfItsKernel) {
  for (const ir::Dim rows : {2, 40}) {
    const MatMulGraph product({"", {false, true}, {rows, 300}, {37, 300}}, false);
    const auto m = static_cast<std::size_t>(rows);
    std::vector<float> expected(m * 37);
    kernels::float_matmul_reference({product.inputs[0].as<float>(), m, 300},
                                    {product.inputs[1].as<float>(), 37, 300},
                                    MatrixView<float>(expected, m, 37));
    EXPECT_TRUE(std::ranges::equal(product.run(2)[0].as<float>(), expected)) << rows;
  }
}

}  // namespace
}  // namespace halftone::runtime
