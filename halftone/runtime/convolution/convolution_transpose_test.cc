// SPDX-License-Identifier: Apache-2.0
// Transposed convolutions whose sums have a fixed order.
#include <gtest/gtest.h>

#include "halftone/kernels/conv/float_conv.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using ir::ActivationKind;
using ir::Shape;

struct TransposeCase {
  std::string name;
  ir::ConvTranspose op;
  Shape x;
  Shape w;
  int bits = 0;  ///< of the input's codes; 0: dense
};

/// A transposed convolution with constant weights and bias, and its input after encoding.
struct TransposeGraph {
  explicit TransposeGraph(const TransposeCase& test) {
    Random random(31);
    w = testing::random_tensor(test.w, random);
    bias = testing::random_tensor({test.w[0]}, random);
    ir::ValueId x = graph.add_input("x", ir::test::float_type(test.x));
    if (test.bits != 0) {
      const ir::Encode encode{testing::activation_encoding(test.bits, true, random)};
      x = graph.add_node("encode", encode, {x});
      graph.add_output(x);
    }
    const auto add = [&](const char* name, const ir::Tensor& tensor) {
      return graph.add_constant(name, tensor.reshaped(tensor.shape()));
    };
    graph.add_output(graph.add_node("node", test.op, {x, add("w", w), add("bias", bias)}));
  }

  ir::Graph graph;
  ir::Tensor w;
  ir::Tensor bias;
};

class FixedConvTranspose : public ::testing::TestWithParam<TransposeCase> {};

TEST_P(FixedConvTranspose, MatchesReferenceOnAnyNumberOfThreads) {
  const TransposeCase& test = GetParam();
  const TransposeGraph layer(test);
  for (const std::size_t batch : {std::size_t{1}, std::size_t{5}}) {
    PlanSettings options{.batch = batch, .execution = {.float_order = FloatOrder::kFixed}};
    const auto plan = make_plan(layer.graph, options);
    EXPECT_EQ(testing::kernel_of(*plan), "fixed_order_f32");
    Random random(3);
    const auto inputs = testing::random_inputs(plan->graph(), random);
    const auto expected = Session(plan).run(inputs);
    const ir::Tensor& x = test.bits == 0 ? inputs[0] : expected[0];
    // At most 400 terms of about 1, each rounded in as many sums.
    ir::test::expect_near(ir::test::list(expected.back().reshaped(expected.back().shape())),
                          ir::test::list(ir::test::evaluate(test.op, x, layer.w, layer.bias)),
                          400 * 400 * 0x1p-24F);
    for (const int threads : {2, 3, 5}) {
      options.threads = threads;
      Session session(make_plan(layer.graph, options));
      EXPECT_TRUE(testing::same_bytes(session.run(inputs), expected)) << threads;
    }
  }
}

std::vector<TransposeCase> transpose_cases() {
  const auto n = ir::kBatch;
  const ir::Activation relu{ActivationKind::kRelu};
  const ir::Activation silu{ActivationKind::kSilu};
  const ir::Window doubled{{2, 2}, {1, 1}, {1, 1}, {1, 1}};
  const ir::Window uneven{{2, 1}, {1, 2}, {0, 1}, {1, 3}};
  const ir::Window line{{8}, {1}, {4}, {4}};
  const ir::Window space{{1, 1, 2}, {1, 1, 1}, {1, 0, 1}, {0, 1, 1}};
  return {
      {"Dense", {doubled, {0, 0}, 1, relu}, {n, 17, 13, 12}, {20, 4, 4, 12}},
      {"Uneven", {uneven, {1, 0}, 1, silu}, {n, 9, 7, 4}, {5, 3, 2, 4}},
      {"Groups", {doubled, {1, 1}, 3, {}}, {n, 9, 7, 12}, {18, 3, 3, 4}},
      {"Depthwise", {doubled, {0, 0}, 18, relu}, {n, 61, 63, 18}, {18, 4, 4, 1}},
      {"Line", {line, {0}, 1, {}}, {n, 50, 16}, {24, 16, 16}},
      {"Space", {space, {0, 0, 0}, 1, {}}, {n, 4, 5, 6, 3}, {5, 2, 2, 3, 3}},
      {"OfCodes", {doubled, {0, 0}, 1, {}}, {n, 9, 7, 12}, {20, 4, 4, 12}, 2},
  };
}

INSTANTIATE_TEST_SUITE_P(Layers, FixedConvTranspose, ::testing::ValuesIn(transpose_cases()),
                         [](const auto& layer) { return layer.param.name; });

TEST(FixedConvTranspose, HasTheBitsOfItsKernel) {
  const TransposeCase test{
      "", {{{2}, {1}, {1}, {1}}, {0}, 1, {}}, {ir::kBatch, 9, 30}, {20, 4, 30}};
  const TransposeGraph layer(test);
  Random random(4);
  const auto inputs = ir::test::list(testing::random_tensor({2, 9, 30}, random));
  const auto found =
      Session(
          make_plan(layer.graph, {.batch = 2, .execution = {.float_order = FloatOrder::kFixed}}))
          .run(inputs);
  const kernels::ConvShape shape{2, {{{}, {}, {9, 18, 4, 2, 1, 1}}}, 30, 20, 1};
  std::vector<float> expected(shape.num_pixels() * shape.outputs);
  kernels::float_conv_transpose_reference(
      shape, inputs[0].as<float>(), layer.w.as<float>(), layer.bias.as<float>(),
      MatrixView<float>(expected, shape.num_pixels(), shape.outputs));
  EXPECT_TRUE(std::ranges::equal(found[0].as<float>(), expected));
}

TEST(FixedConvTranspose, LeavesFourAxesToTheReference) {
  const TransposeCase test{"",
                           {ir::plain_window(4), {0, 0, 0, 0}, 1, {}},
                           {ir::kBatch, 2, 2, 2, 2, 3},
                           {4, 2, 1, 1, 1, 3}};
  const auto plan =
      make_plan(TransposeGraph(test).graph, {.execution = {.float_order = FloatOrder::kFixed}});
  EXPECT_EQ(testing::kernel_of(*plan), "reference");
}

}  // namespace
}  // namespace halftone::runtime
