// SPDX-License-Identifier: Apache-2.0
// FullyConnected in every combination of encodings.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "halftone/base/parallel.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/runtime/linear/linear.h"
#include "halftone/runtime/plan/planner.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using numerics::Granularity;
using testing::WeightFormat;

struct DenseLayer {
  std::size_t n = 70;
  std::size_t o = 19;
  std::optional<int> x_bits;
  bool x_offset = false;
  std::optional<WeightFormat> w;
  ir::Activation activation;
  bool bias = true;
};

ir::Graph layer_graph(const DenseLayer& layer, std::uint64_t seed = 11) {
  Random random(seed);
  ir::Graph graph;
  const auto n = static_cast<ir::Dim>(layer.n);
  const auto o = static_cast<ir::Dim>(layer.o);
  ir::ValueId x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, n}));
  if (layer.x_bits) {
    x = graph.add_node(
        "encode", ir::Encode{testing::activation_encoding(*layer.x_bits, layer.x_offset, random)},
        {x});
  }
  const ir::ValueId w =
      layer.w ? graph.add_constant("w", testing::random_weights(layer.o, layer.n, *layer.w, random))
              : graph.add_constant("w", testing::random_tensor({o, n}, random));
  const ir::ValueId bias =
      layer.bias ? graph.add_constant("bias", testing::random_tensor({o}, random)) : ir::kAbsent;
  graph.add_output(graph.add_node("dense", ir::FullyConnected{layer.activation}, {x, w, bias}));
  return graph;
}

class QuantizedFullyConnected
    : public ::testing::TestWithParam<std::tuple<int, int, bool, bool, Granularity>> {};

TEST_P(QuantizedFullyConnected, MatchesReference) {
  const auto [x_bits, w_bits, x_offset, w_offset, granularity] = GetParam();
  const std::size_t group = granularity == Granularity::kGroup ? 16 : 0;
  for (const std::size_t n : {std::size_t{5}, std::size_t{70}, std::size_t{128}}) {
    for (const std::size_t batch : {std::size_t{1}, std::size_t{5}}) {
      DenseLayer layer;
      layer.n = n;
      layer.x_bits = x_bits;
      layer.x_offset = x_offset;
      layer.w = WeightFormat{w_bits, w_offset, granularity, group};
      layer.bias = n != 5;
      const PlanSettings exact{.batch = batch, .execution = {.int8_activations = false}};
      const auto plan = testing::expect_reference_result(layer_graph(layer), exact, 3e-5F, n);
      const bool bits =
          granularity != Granularity::kGroup && x_bits * w_bits <= ir::kMaxBitPairsBesideFloat;
      EXPECT_EQ(testing::kernel_of(*plan), bits ? "xnor_popcount" : "fixed_order_f32");
    }
  }
}

TEST_P(QuantizedFullyConnected, IsCloseToReferenceIn8BitIntegers) {
  const auto [x_bits, w_bits, x_offset, w_offset, granularity] = GetParam();
  const std::size_t group = granularity == Granularity::kGroup ? 16 : 0;
  for (const std::size_t batch : {std::size_t{1}, std::size_t{5}}) {
    DenseLayer layer;
    layer.x_bits = x_bits;
    layer.x_offset = x_offset;
    layer.w = WeightFormat{w_bits, w_offset, granularity, group};
    const auto plan = testing::expect_reference_result(layer_graph(layer), {.batch = batch}, 0.1F);
    const bool bits = granularity != Granularity::kGroup && x_bits * w_bits <= ir::kMaxBitPairs;
    EXPECT_EQ(testing::kernel_of(*plan), bits ? "xnor_popcount" : "int8_levels");
  }
}

INSTANTIATE_TEST_SUITE_P(Encodings, QuantizedFullyConnected,
                         ::testing::Combine(::testing::Values(1, 2, 3, 4, 8),
                                            ::testing::Values(1, 2, 3, 4, 8), ::testing::Bool(),
                                            ::testing::Bool(),
                                            ::testing::Values(Granularity::kTensor,
                                                              Granularity::kChannel,
                                                              Granularity::kGroup)));

TEST(FullyConnected, EncodedWeightsUse8BitActivations) {
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    for (const auto granularity :
         {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
      for (const std::size_t batch : {1U, 5U}) {
        DenseLayer layer;
        const std::size_t group = granularity == Granularity::kGroup ? 32 : 0;
        layer.w = WeightFormat{bits, true, granularity, group};
        // The error is half a step, 1/254 of the largest input, in each of 70 products.
        const auto plan =
            testing::expect_reference_result(layer_graph(layer), {.batch = batch}, 0.25F);
        EXPECT_EQ(testing::kernel_of(*plan), "int8_levels");
        const LayerExtent extent{batch, layer.n, layer.o, 0, bits, group};
        EXPECT_EQ(plan->steps().back().body.variant,
                  to_string(cheapest_levels(extent, cost_core())));
        EXPECT_THAT(plan->steps().back().reason,
                    ::testing::StartsWith((batch == 1 ? "1 row, " : "5 rows, ") +
                                          std::to_string(bits) + "-bit weights: about 0."));
      }
    }
  }
}

TEST(FullyConnected, EncodedWeightsAreDecodedForFloatActivations) {
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    DenseLayer layer;
    layer.w = WeightFormat{bits, true, Granularity::kGroup, 32};
    const PlanSettings options{.batch = 3, .execution = {.int8_activations = false}};
    const auto plan = testing::expect_reference_result(layer_graph(layer), options, 2e-5F);
    EXPECT_EQ(testing::kernel_of(*plan), "fixed_order_f32");
    EXPECT_THAT(plan->steps().back().reason, ::testing::StartsWith("the weights are decoded"));
    EXPECT_EQ(plan->steps().back().refused.at(1).reason, "8-bit activations are disabled");
  }
}

TEST(FullyConnected, EncodedInputsAreDecodedInEveryRun) {
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    DenseLayer layer;
    layer.x_bits = bits;
    layer.x_offset = true;
    const auto plan = testing::expect_reference_result(layer_graph(layer), {.batch = 3}, 2e-5F);
    EXPECT_EQ(testing::kernel_of(*plan), "fixed_order_f32");
    EXPECT_THAT(plan->steps().back().reason, ::testing::StartsWith("the input is decoded"));
  }
}

TEST(FullyConnected, FusesEveryActivationOnEveryPath) {
  for (int kind = 0; kind <= static_cast<int>(ir::ActivationKind::kRound); ++kind) {
    DenseLayer layer;
    layer.activation = {static_cast<ir::ActivationKind>(kind), 0.25F, 0.75F};
    // A step function turns a difference in the last bit into a whole step. operators_test.cc tests
    // those without preceding arithmetic.
    if (kind >= static_cast<int>(ir::ActivationKind::kFloor) ||
        layer.activation.kind == ir::ActivationKind::kReciprocal ||
        layer.activation.kind == ir::ActivationKind::kThresholded) {
      continue;
    }
    layer.n = 12;
    SCOPED_TRACE(ir::to_string(layer.activation));
    testing::expect_reference_result(layer_graph(layer), {.batch = 2}, 1e-4F);
    layer.x_bits = 2;
    layer.w = WeightFormat{2, true};
    testing::expect_reference_result(layer_graph(layer), {.batch = 2}, 1e-4F);
  }
}

TEST(FullyConnected, KeepsLeadingAxes) {
  Random random(5);
  for (const bool encoded : {false, true}) {
    ir::Graph graph;
    ir::ValueId x =
        graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 3, 2, 20}));
    if (encoded) {
      x = graph.add_node("encode", ir::Encode{testing::activation_encoding(2, true, random)}, {x});
    }
    const auto w = graph.add_constant("w", testing::random_weights(9, 20, {2, true}, random));
    graph.add_output(graph.add_node("dense", ir::FullyConnected{}, {x, w}));
    const auto plan =
        testing::expect_reference_result(graph, {.batch = 4}, encoded ? 2e-5F : 0.05F);
    EXPECT_EQ(plan->graph().value(plan->graph().outputs()[0]).type.shape, (ir::Shape{4, 3, 2, 9}));
  }
}

TEST(FullyConnected, ComputedWeightsAndBiasGoToTheReference) {
  Random random(5);
  ir::Graph graph;
  const auto float_type = [](ir::Shape shape) {
    return ir::dense_type(ir::ElementType::kFloat32, std::move(shape));
  };
  const auto x = graph.add_input("x", float_type({2, 6}));
  const auto w = graph.add_input("w", float_type({4, 6}));
  const auto b = graph.add_input("b", float_type({4}));
  const auto codes = graph.add_constant("codes", testing::random_weights(4, 6, {2}, random));
  const auto encoded =
      graph.add_node("encode", ir::Encode{testing::activation_encoding(2, true, random)}, {x});
  graph.add_output(graph.add_node("dynamic", ir::FullyConnected{}, {x, w, b}));
  graph.add_output(graph.add_node("bias", ir::FullyConnected{}, {encoded, codes, b}));
  const auto plan = testing::expect_reference_result(graph, {}, 1e-6F);
  for (const PlanStep& step : plan->steps()) {
    if (step.op != "FullyConnected") continue;
    EXPECT_EQ(step.kernel, "reference");
    ASSERT_EQ(step.refused.size(), implementations(ir::FullyConnected{}).size() - 1);
    EXPECT_EQ(step.refused[0].kernel, "xnor_popcount");
  }
}

TEST(FullyConnected, MatchesTheGoldenCaseOfLearnedQuantization) {
  std::vector<numerics::Basis> bases;
  for (const auto& a : {std::array{.11F, .23F, .31F}, std::array{.23F, .41F, .53F},
                        std::array{.13F, .22F, .46F}, std::array{.32F, .33F, .35F}}) {
    bases.push_back(numerics::make_basis(a));
  }
  const auto encoding = numerics::basis_encoding(bases, false, Granularity::kChannel);
  const std::uint64_t words[] = {7, 13, 20, 4, 15, 3, 31, 17, 11, 22, 19, 2};
  numerics::BitPlanes codes(4, 5, 3);
  for (std::size_t row = 0; row < 12; ++row) codes.planes.row(row)[0] = words[row];
  const float input_scales[] = {0.12F, 1.7F};
  const float bias[] = {-1.1F, -5, -0.3F, 2.8F};
  const float pixels[] = {0.5F, 1.2F, 2.3F, -1, 0};
  const auto run = [&](bool with_bias, ir::ActivationKind activation) {
    ir::Graph graph;
    const auto x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {1, 5}));
    const auto w = graph.add_constant(
        "w",
        ir::EncodedTensor{{4, 5}, std::make_shared<numerics::MatrixEncoding>(encoding), codes});
    const auto encoded =
        graph.add_node("encode",
                       ir::Encode{std::make_shared<numerics::MatrixEncoding>(
                           numerics::tensor_encoding(numerics::make_basis(input_scales)))},
                       {x});
    const auto b =
        with_bias ? graph.add_constant("b", ir::Tensor::from<float>({4}, bias)) : ir::kAbsent;
    graph.add_output(graph.add_node("lq", ir::FullyConnected{{activation}}, {encoded, w, b}));
    const auto plan = make_plan(graph, {.execution = {.int8_activations = false}});
    EXPECT_EQ(testing::kernel_of(*plan), "xnor_popcount");
    std::vector<ir::Tensor> inputs;
    inputs.push_back(ir::Tensor::from<float>({1, 5}, pixels));
    return Session(plan).run(inputs);
  };
  const float expected[] = {-0.2014F, -0.1546F, 0.1526F, 4.2936F};
  const float expected_relu[] = {0.8986F, 4.8454F, 0.4526F, 1.4936F};
  const auto plain = run(true, ir::ActivationKind::kIdentity);
  const auto relu = run(false, ir::ActivationKind::kRelu);
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_NEAR(plain[0].as<float>()[i], expected[i], 1e-5F);
    EXPECT_NEAR(relu[0].as<float>()[i], expected_relu[i], 1e-5F);
  }
}

TEST(FullyConnected, TwoThreadsGiveTheBitsOfOne) {
  set_num_threads(2);
  Random random(2);
  std::vector<ir::Tensor> inputs;
  inputs.push_back(testing::random_tensor({256, 700}, random));
  for (const auto& [x_bits, w_bits] :
       {std::pair(std::optional(2), 3), std::pair(std::optional<int>(), 2),
        std::pair(std::optional<int>(), 4)}) {
    DenseLayer layer;
    layer.n = 700;
    layer.o = 811;
    layer.x_bits = x_bits;
    layer.x_offset = true;
    layer.w = WeightFormat{w_bits, true};
    layer.activation = {ir::ActivationKind::kTanh};
    const ir::Graph graph = layer_graph(layer);
    Session one(make_plan(graph, {.batch = 256, .threads = 1}));
    Session two(make_plan(graph, {.batch = 256, .threads = 2}));
    EXPECT_TRUE(testing::same_bytes(one.run(inputs), two.run(inputs)));
  }
  set_num_threads(0);
}

}  // namespace
}  // namespace halftone::runtime
