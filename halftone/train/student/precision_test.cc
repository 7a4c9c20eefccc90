// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/precision.h"

#include <ATen/ATen.h>
#include <gtest/gtest.h>
#include <torch/autograd.h>

#include <vector>

#include "halftone/compress/quantize.h"
#include "halftone/compress/testing.h"
#include "halftone/ir/testing.h"
#include "halftone/train/graph/torch_tensor.h"
#include "halftone/train/student/format_rounding.h"
#include "halftone/train/student/student.h"

namespace halftone::train {
namespace {

using numerics::NumberFormat;

const NumberFormat kE4M3 = numerics::parse_number_format("e4m3");
const NumberFormat kE5M2 = numerics::parse_number_format("e5m2");
const NumberFormat kBf16 = numerics::parse_number_format("bf16");
const NumberFormat kMxfp4 = numerics::parse_number_format("mxfp4");

at::Tensor random_inputs(const ir::Shape& shape) {
  Random random(3);
  return to_torch(ir::test::random_tensor(shape, random));
}

/// x [N, 6] W' + b, five outputs.
ir::Graph one_layer() {
  Random random(1);
  ir::Graph graph;
  const ir::ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 6}));
  graph.add_output(
      graph.add_node("y", ir::FullyConnected{},
                     {x, graph.add_constant("w", ir::test::random_tensor({5, 6}, random)),
                      graph.add_constant("b", ir::test::random_tensor({5}, random))}));
  return graph;
}

StudentOptions with(const PrecisionOptions& precision) {
  StudentOptions options;
  options.precision = precision;
  return options;
}

/// The gradients with respect to all parameters if that with respect to the output is `g`.
std::vector<at::Tensor> slopes(const Student& student, const at::Tensor& x, const at::Tensor& g,
                               std::uint64_t seed = 0) {
  const std::vector<at::Tensor> in{x};
  const at::Tensor y = student.forward(in, PassKind::kApply, seed).outputs[0];
  return torch::autograd::grad({(y * g).sum()}, student.parameters(), {}, c10::nullopt, false,
                               true);
}

TEST(Precision, RoundsWhatLayersMultiplyAndPassesGradientsStraightThrough) {
  const Student student(one_layer(), nullptr, with({kE4M3, kE5M2, NumberFormat{}}));
  const at::Tensor w = student.parameters()[0].detach();
  const at::Tensor b = student.parameters()[1].detach();
  const at::Tensor x = random_inputs({7, 6});
  const at::Tensor w_few = rounded_to_nearest(kE4M3, w);
  const at::Tensor x_few = rounded_to_nearest(kE5M2, x);
  const std::vector<at::Tensor> in{x};
  EXPECT_TRUE(student.forward(in, PassKind::kApply).outputs[0].equal(at::linear(x_few, w_few, b)));
  EXPECT_FALSE(w_few.equal(w));
  const at::Tensor g = random_inputs({7, 5});
  const std::vector<at::Tensor> found = slopes(student, x, g);
  EXPECT_TRUE(found[0].allclose(g.t().matmul(x_few), 1e-6, 1e-6));
  EXPECT_TRUE(found[1].allclose(g.sum(0), 1e-6, 1e-6));
}

// Groups of 32 lie along the channels of x and of g, and along the 3 x 3 x 32 inputs of an output.
TEST(Precision, RoundsGroupsAlongWhatAConvolutionSums) {
  Random random(8);
  ir::Graph graph;
  const ir::ValueId x = graph.add_input("x", ir::test::float_type({ir::kBatch, 5, 5, 32}));
  ir::Conv op;
  op.window = ir::plain_window(2);
  graph.add_output(graph.add_node(
      "y", op, {x, graph.add_constant("w", ir::test::random_tensor({8, 3, 3, 32}, random))}));
  const Student student(graph, nullptr, with({kMxfp4, kMxfp4, NumberFormat{}}));
  const at::Tensor w = student.parameters()[0].detach();
  const at::Tensor given = random_inputs({2, 5, 5, 32});
  const at::Tensor w_few = rounded_to_nearest(kMxfp4, w.reshape({8, 3 * 3 * 32}));
  const at::Tensor x_few = rounded_to_nearest(kMxfp4, given.reshape({2 * 5 * 5, 32}));
  const at::Tensor expected = at::conv2d(x_few.reshape({2, 5, 5, 32}).permute({0, 3, 1, 2}),
                                         w_few.reshape({8, 3, 3, 32}).permute({0, 3, 1, 2}))
                                  .permute({0, 2, 3, 1});
  const std::vector<at::Tensor> in{given};
  EXPECT_TRUE(student.forward(in, PassKind::kApply).outputs[0].allclose(expected, 1e-5, 1e-5));
}

TEST(Precision, RoundsTheGradientByTheOutputOfALayer) {
  const at::Tensor x = random_inputs({7, 6});
  const at::Tensor g = random_inputs({7, 5});
  for (const GradientRounding rounding :
       {GradientRounding::kNearest, GradientRounding::kStochastic}) {
    const Student student(one_layer(), nullptr,
                          with({NumberFormat{}, NumberFormat{}, kE4M3, rounding}));
    constexpr std::uint64_t kSeed = 11;
    const auto node = static_cast<std::uint64_t>(student.source().topological_order().front());
    const at::Tensor few = rounding == GradientRounding::kNearest
                               ? rounded_to_nearest(kE4M3, g)
                               : rounded_stochastically(kE4M3, g, seed_of(kSeed, {node}));
    const std::vector<at::Tensor> found = slopes(student, x, g, kSeed);
    EXPECT_TRUE(found[0].allclose(few.t().matmul(x), 1e-6, 1e-6));
    EXPECT_TRUE(found[1].allclose(few.sum(0), 1e-6, 1e-6));
    EXPECT_FALSE(found[1].allclose(g.sum(0), 1e-6, 1e-6));
    EXPECT_EQ(found[0].equal(slopes(student, x, g, kSeed + 1)[0]),
              rounding == GradientRounding::kNearest);
    EXPECT_TRUE(found[0].equal(slopes(student, x, g, kSeed)[0]));
  }
}

TEST(Precision, OfFloat32ChangesNothing) {
  const Student plain(one_layer());
  const Student student(one_layer(), nullptr, with({}));
  const at::Tensor x = random_inputs({7, 6});
  const at::Tensor g = random_inputs({7, 5});
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_TRUE(slopes(student, x, g)[i].equal(slopes(plain, x, g)[i]));
  }
}

// Encoded activations and weights are not rounded again, but gradients are.
TEST(Precision, LeavesCodesAlone) {
  const ir::Graph graph = compress::perceptron(8, 12, 3, 1);
  compress::Recipe recipe;
  recipe.defaults.weight_bits = recipe.defaults.activation_bits = 2;
  const ir::Graph few =
      compress::quantize(graph, compress::random_dataset(64, 8, 2), recipe, {}).graph;
  const Student plain(few, &graph);
  const Student student(few, &graph, with({kE4M3, kE4M3, NumberFormat{}}));
  const std::vector<at::Tensor> in{random_inputs({9, 8})};
  EXPECT_TRUE(student.forward(in, PassKind::kApply)
                  .outputs[0]
                  .equal(plain.forward(in, PassKind::kApply).outputs[0]));
}

TEST(Precision, RoundsTheStatesAndWeightsOfRecurrentLayersButNotTheirGates) {
  Random random(5);
  ir::Graph graph;
  const ir::ValueId x = graph.add_input("x", ir::test::float_type({2, ir::kBatch, 4}));
  ir::Recurrent op;
  op.kind = ir::RecurrentKind::kRnn;
  op.activations[0] = {ir::ActivationKind::kTanh};
  graph.add_output(graph.add_node(
      "rnn", op, {x, graph.add_constant("r", ir::test::random_tensor({4, 4}, random))}));
  const Student student(graph, nullptr, with({kE4M3, kE5M2, NumberFormat{}}));
  const at::Tensor gates = random_inputs({2, 3, 4});
  const at::Tensor h1 = gates[0].tanh();
  const at::Tensor r = rounded_to_nearest(kE4M3, student.parameters()[0].detach());
  const at::Tensor h2 = (gates[1] + at::linear(rounded_to_nearest(kE5M2, h1), r)).tanh();
  const std::vector<at::Tensor> in{gates};
  EXPECT_TRUE(
      student.forward(in, PassKind::kApply).outputs[0].allclose(at::stack({h1, h2}), 1e-6, 1e-6));
}

TEST(Precision, RoundsRowsOfATableButNotPlaces) {
  Random random(6);
  ir::Graph graph;
  const ir::ValueId places =
      graph.add_input("x", ir::dense_type(ir::ElementType::kInt32, ir::Shape{ir::kBatch}));
  graph.add_output(graph.add_node(
      "rows", ir::Gather{0},
      {graph.add_constant("table", ir::test::random_tensor({5, 3}, random)), places}));
  const Student student(graph, nullptr, with({kBf16, kE4M3, NumberFormat{}}));
  const at::Tensor rows = at::tensor({4, 0, 4}, at::TensorOptions(at::kInt));
  const std::vector<at::Tensor> in{rows};
  const at::Tensor table = rounded_to_nearest(kBf16, student.parameters()[0].detach());
  EXPECT_TRUE(student.forward(in, PassKind::kApply)
                  .outputs[0]
                  .equal(table.index_select(0, rows.to(at::kLong))));
}

}  // namespace
}  // namespace halftone::train
