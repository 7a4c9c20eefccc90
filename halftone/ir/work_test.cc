// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/work.h"

#include <gtest/gtest.h>

#include <array>
#include <string>

#include "halftone/ir/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::ir {
namespace {

/// The work of a node whose first input is given and whose others are float constants.
Work work_of_node(const Operator& op, Shape x, const std::vector<Shape>& constants,
                  std::size_t batch = 1) {
  Graph graph;
  std::vector<ValueId> inputs = {graph.add_input("x", test::float_type(std::move(x)))};
  for (const Shape& shape : constants) {
    const std::string name = "c" + std::to_string(inputs.size());
    inputs.push_back(graph.add_constant(name, test::random_tensor(shape, 3)));
  }
  const ValueId y = graph.add_node("node", op, inputs);
  graph.add_output(y);
  return work_of(graph, graph.node(*graph.producer(y)), batch);
}

/// @param expected  count, rows, inner, cols
void expect_extents(const Work& work, const std::array<std::size_t, 4>& expected) {
  EXPECT_EQ((std::array{work.count, work.rows, work.inner, work.cols}), expected);
  double products = 1;
  for (const std::size_t extent : expected) products *= static_cast<double>(extent);
  EXPECT_EQ(work.products(), products);
}

TEST(Work, CountsTheProductsOfLayers) {
  expect_extents(work_of_node(FullyConnected{}, {kBatch, 5, 6}, {{4, 6}}, 3), {1, 15, 6, 4});
  const Window window{{2, 1}, {1, 1}, {0, 0}, {0, 0}};
  // [3, 4, 5, 6] to [3, 2, 4, 8] by taps of 2 x 2, two groups.
  expect_extents(work_of_node(Conv{window, 2, {}}, {kBatch, 4, 5, 6}, {{8, 2, 2, 3}}, 3),
                 {2, 24, 12, 4});
  EXPECT_EQ(work_of_node(Conv{window, 2, {}}, {kBatch, 4, 5, 6}, {{8, 2, 2, 3}}).taps, 4U);
  expect_extents(
      work_of_node(ConvTranspose{window, {0, 0}, 2, {}}, {kBatch, 4, 5, 6}, {{8, 2, 2, 3}}, 3),
      {2, 60, 3, 16});
}

TEST(Work, CountsTheProductsOfMatrices) {
  expect_extents(work_of_node(MatMul{}, {kBatch, 2, 3, 4}, {{4, 7}}, 5), {10, 3, 4, 7});
  expect_extents(work_of_node(MatMul{true, true}, {kBatch, 4, 3}, {{1, 7, 4}}, 5), {5, 3, 4, 7});
  expect_extents(work_of_node(MatMul{}, {4}, {{4}}), {1, 1, 4, 1});
}

TEST(Work, CountsTheStepsOfRecurrentLayers) {
  Recurrent op;
  op.kind = RecurrentKind::kGru;
  op.state_encoding = test::odd_encoding();
  const Work work = work_of_node(op, {7, kBatch, 12}, {{12, 4}}, 3);
  expect_extents(work, {7, 3, 4, 12});
  EXPECT_FALSE(work.x.is_dense());
  EXPECT_TRUE(work.w.is_dense());
}

TEST(Work, CountsTheExpertsThatRowsChoose) {
  const auto bytes_of_experts = [](Dim rows) {
    Graph graph;
    const ValueId x = graph.add_input("x", test::float_type({rows, 12}));
    const ValueId w = graph.add_constant("w", test::random_tensor({8, 5, 12}, 3));
    const ValueId chosen = graph.add_input("chosen", dense_type(ElementType::kInt32, {rows, 2}));
    const ValueId y = graph.add_node("experts", ExpertProduct{}, {x, w, chosen});
    graph.add_output(y);
    const Work work = work_of(graph, graph.node(*graph.producer(y)));
    expect_extents(work, {1, 2 * static_cast<std::size_t>(rows), 12, 5});
    return work.reads[1].bytes;
  };
  EXPECT_EQ(bytes_of_experts(1), 2 * 5 * 12 * 4);
  EXPECT_EQ(bytes_of_experts(3), 6 * 5 * 12 * 4);
  EXPECT_EQ(bytes_of_experts(9), 8 * 5 * 12 * 4);
}

TEST(Work, OfOtherOperatorsHasNoProducts) {
  const Work work = work_of_node(test::kAdd, {kBatch, 6}, {{6}}, 3);
  EXPECT_EQ(work.products(), 0);
  EXPECT_EQ(work.bytes_read(), (3 * 6 + 6) * 4);
  EXPECT_EQ(work.writes.bytes, 3 * 6 * 4);
}

/// @param expected  operations, functions
void expect_elements(const Operator& op, const Shape& x, const std::vector<Shape>& constants,
                     const std::array<double, 2>& expected) {
  const ElementWork work = work_of_node(op, x, constants).elements;
  EXPECT_EQ((std::array{work.operations, work.functions}), expected) << name_of(op);
}

TEST(Work, CountsOperationsOnElements) {
  expect_elements(Unary{{ActivationKind::kRelu}}, {2, 6}, {}, {12, 0});
  expect_elements(Unary{{ActivationKind::kTanh}}, {2, 6}, {}, {12, 12});
  expect_elements(Binary{BinaryKind::kAdd, {}}, {2, 6}, {{6}}, {12, 0});
  expect_elements(Binary{BinaryKind::kDiv, {}}, {2, 6}, {{6}}, {12, 12});
  expect_elements(Softmax{1, 1, false}, {2, 6}, {}, {48, 12});
  expect_elements(Normalize{{1}, 1e-5F, true}, {2, 6}, {}, {72, 2});
  expect_elements(Reduce{ReduceKind::kSum, {1}, true}, {2, 6}, {}, {12, 0});
  expect_elements(Reduce{ReduceKind::kMean, {1}, true}, {2, 6}, {}, {12, 2});
  expect_elements(Transpose{{1, 0}}, {2, 6}, {}, {0, 0});
}

TEST(Work, CountsWhatLayersDoAfterTheirProducts) {
  // A bias, and an activation.
  expect_elements(FullyConnected{{ActivationKind::kRelu}}, {2, 6}, {{4, 6}, {4}}, {16, 0});
  expect_elements(FullyConnected{{ActivationKind::kSigmoid}}, {2, 6}, {{4, 6}}, {8, 8});
  const Window window{{1, 1}, {1, 1}, {0, 0}, {0, 0}};
  expect_elements(Conv{window, 1, {}}, {1, 4, 4, 2}, {{3, 1, 1, 2}, {3}}, {48, 0});
  expect_elements(Pool{PoolKind::kMax, {2, 2}, {{2, 2}, {1, 1}, {0, 0}, {0, 0}}}, {1, 4, 4, 3}, {},
                  {48, 0});
}

TEST(Work, CountsBytesAsStored) {
  Random random(3);
  Graph graph;
  const ValueId x = graph.add_input("x", test::float_type({kBatch, 16}));
  const ValueId codes = graph.add_node("encode", Encode{test::odd_encoding()}, {x});
  EncodedTensor weights;
  weights.shape = {4, 16};
  weights.encoding = test::odd_encoding();
  weights.codes = numerics::random_planes(random, 4, 16, 2);
  const std::size_t stored = storage_bytes(weights);
  const ValueId w = graph.add_constant("w", std::move(weights));
  const ValueId y = graph.add_node("layer", FullyConnected{}, {codes, w});
  graph.add_output(y);
  const Work work = work_of(graph, graph.node(*graph.producer(y)), 5);
  ASSERT_EQ(work.reads.size(), 2U);
  EXPECT_EQ(work.reads[0].bytes, 5 * 16 * 2 / 8);  // 2 bits
  EXPECT_EQ(work.reads[1].bytes, static_cast<double>(stored));
  EXPECT_EQ(work.reads[1].value, w);
  EXPECT_FALSE(work.w.is_dense());
  EXPECT_EQ(work.writes.bytes, 5 * 4 * 4);
}

}  // namespace
}  // namespace halftone::ir
