// SPDX-License-Identifier: Apache-2.0
// Conv of codes in every combination of encodings and geometries.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/parallel.h"
#include "halftone/numerics/systems.h"
#include "halftone/runtime/testing.h"

namespace halftone::runtime {
namespace {

using numerics::Granularity;
using testing::WeightFormat;

struct ConvLayer {
  ir::Shape x{ir::kBatch, 7, 6, 12};
  ir::Shape w{20, 3, 3, 12};
  ir::Conv conv{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}};
  int x_bits = 2;
  bool x_offset = true;
  WeightFormat format{1, true};
};

ir::Graph layer_graph(const ConvLayer& layer, std::uint64_t seed = 11) {
  Random random(seed);
  ir::Graph graph;
  ir::ValueId x = graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, layer.x));
  x = graph.add_node("encode",
                     ir::Encode{testing::activation_encoding(layer.x_bits, layer.x_offset, random)},
                     {x});
  const auto outputs = static_cast<std::size_t>(layer.w[0]);
  const std::size_t inputs = layer.w.element_count() / outputs;
  ir::EncodedTensor weights = testing::random_weights(outputs, inputs, layer.format, random);
  weights.shape = layer.w;
  const auto w = graph.add_constant("w", std::move(weights));
  const auto bias = graph.add_constant("bias", testing::random_tensor({layer.w[0]}, random));
  graph.add_output(graph.add_node("conv", layer.conv, {x, w, bias}));
  return graph;
}

class CodedConv : public ::testing::TestWithParam<std::tuple<int, int, bool, bool, Granularity>> {};

TEST_P(CodedConv, MatchesReference) {
  const auto [x_bits, w_bits, x_offset, w_offset, granularity] = GetParam();
  ConvLayer layer;
  layer.x_bits = x_bits;
  layer.x_offset = x_offset;
  layer.format = {w_bits, w_offset, granularity, granularity == Granularity::kGroup ? 36U : 0U};
  for (const std::size_t batch : {std::size_t{1}, std::size_t{3}}) {
    const PlanSettings exact{.batch = batch, .execution = {.int8_activations = false}};
    const auto plan = testing::expect_reference_result(layer_graph(layer), exact, 1e-4F);
    if (granularity == Granularity::kGroup) {
      EXPECT_EQ(testing::kernel_of(*plan), "fixed_order_f32");
    } else if (x_bits * w_bits <= 2) {
      EXPECT_EQ(testing::kernel_of(*plan), "bit_conv");
    }
  }
}

TEST_P(CodedConv, IsCloseToReferenceIn8BitIntegers) {
  const auto [x_bits, w_bits, x_offset, w_offset, granularity] = GetParam();
  ConvLayer layer;
  layer.x = {ir::kBatch, 5, 6, 64};
  layer.w = {64, 3, 3, 64};
  layer.x_bits = x_bits;
  layer.x_offset = x_offset;
  layer.format = {w_bits, w_offset, granularity, granularity == Granularity::kGroup ? 64U : 0U};
  // The error is half a step, 1/240 of the range of the levels, in each of 576 products of some
  // tenths.
  const auto plan = testing::expect_reference_result(layer_graph(layer), {.batch = 2}, 0.5F);
  if (granularity == Granularity::kGroup || x_bits * w_bits >= 9) {
    EXPECT_EQ(testing::kernel_of(*plan), "int8_conv");
  } else if (x_bits * w_bits <= 4) {
    EXPECT_EQ(testing::kernel_of(*plan), "bit_conv");
  }
}

INSTANTIATE_TEST_SUITE_P(Encodings, CodedConv,
                         ::testing::Combine(::testing::Values(1, 2, 3, 8),
                                            ::testing::Values(1, 2, 3, 8), ::testing::Bool(),
                                            ::testing::Bool(),
                                            ::testing::Values(Granularity::kTensor,
                                                              Granularity::kChannel,
                                                              Granularity::kGroup)));

TEST(CodedConvGeometry, MatchesReference) {
  const std::vector<ConvLayer> layers = {
      {{ir::kBatch, 30, 12}, {20, 5, 12}, {{{2}, {2}, {3}, {1}}, 1, {}}},
      {{ir::kBatch, 9, 8, 12}, {20, 3, 3, 12}, {{{2, 1}, {1, 2}, {0, 2}, {1, 3}}, 1, {}}},
      {{ir::kBatch, 9, 8, 12}, {20, 1, 1, 12}, {{{2, 2}, {1, 1}, {0, 0}, {0, 0}}, 1, {}}},
      {{ir::kBatch, 9, 8, 12}, {20, 3, 3, 6}, {{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 2, {}}},
      {{ir::kBatch, 4, 5, 6, 7},
       {20, 3, 2, 3, 7},
       {{{1, 1, 2}, {1, 1, 1}, {1, 0, 1}, {1, 1, 1}}, 1, {}}},
  };
  for (ConvLayer layer : layers) {
    const PlanSettings exact{.batch = 2, .execution = {.int8_activations = false}};
    const auto bits = testing::expect_reference_result(layer_graph(layer), exact, 1e-4F);
    EXPECT_EQ(testing::kernel_of(*bits), "bit_conv");
    layer.x_bits = 4;
    for (const int w_bits : {4, 8}) {
      layer.format = {w_bits, true};
      testing::expect_reference_result(layer_graph(layer), {.batch = 2}, 0.3F);
    }
  }
}

/// x -> encode in `int` of some bits -> conv with weights in `int` of 4 bits, groups of 16 inputs.
ir::Graph grouped_graph(const ConvLayer& layer) {
  Random random(12);
  const auto& system = numerics::find_system("int");
  const auto encoded = [&](int bits, numerics::BlockShape blocks, const ir::Tensor& values) {
    const auto [rows, cols] = ir::matrix_extent(values.shape());
    const MatrixView<const float> view(values.as<float>(), rows, cols);
    auto encoding = numerics::encoding_by_rule(system, bits, blocks, view);
    auto codes = numerics::encode(view, encoding);
    return ir::EncodedTensor{values.shape(),
                             std::make_shared<const numerics::MatrixEncoding>(std::move(encoding)),
                             std::move(codes)};
  };
  ir::Graph graph;
  ir::ValueId x = graph.add_input("x", ir::test::float_type(layer.x));
  const ir::Tensor samples = testing::random_tensor({1, 400}, random);
  const auto levels = encoded(layer.x_bits, {Granularity::kTensor, 0}, samples).encoding;
  x = graph.add_node("encode", ir::Encode{levels}, {x});
  const ir::Tensor weights = testing::random_tensor(layer.w, random);
  const auto w = graph.add_constant("w", encoded(4, {Granularity::kGroup, 16}, weights));
  const auto bias = graph.add_constant("bias", testing::random_tensor({layer.w[0]}, random));
  graph.add_output(graph.add_node("conv", layer.conv, {x, w, bias}));
  return graph;
}

// All levels are on the grids of the integers. The n products of an output are below 4; they and
// the sums of sections are rounded at most once each, in either implementation.
TEST(ConvOfGroups, IsExactInIntegersButForRounding) {
  const std::vector<ConvLayer> layers = {
      {{ir::kBatch, 7, 6, 8}, {16, 3, 3, 8}, {{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}}},
      {{ir::kBatch, 30, 12}, {20, 5, 12}, {{{2}, {2}, {3}, {1}}, 1, {}}},
      {{ir::kBatch, 9, 8, 12}, {20, 3, 3, 12}, {{{2, 1}, {1, 2}, {0, 2}, {1, 3}}, 1, {}}},
      {{ir::kBatch, 9, 8, 64}, {20, 1, 1, 64}, {{{2, 2}, {1, 1}, {0, 0}, {0, 0}}, 1, {}}},
      {{ir::kBatch, 9, 8, 64}, {20, 1, 1, 64}, {{{1, 1}, {1, 1}, {0, 0}, {0, 0}}, 1, {}}},
      {{ir::kBatch, 9, 8, 24}, {16, 3, 3, 12}, {{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 2, {}}},
      {{ir::kBatch, 9, 8, 3}, {16, 2, 2, 3}, {{{1, 1}, {1, 1}, {1, 0}, {0, 1}}, 1, {}}},
      {{ir::kBatch, 9, 8, 20}, {20, 3, 3, 1}, {{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 20, {}}},
      {{ir::kBatch, 4, 5, 6, 4},
       {20, 3, 2, 3, 4},
       {{{1, 1, 2}, {1, 1, 1}, {1, 0, 1}, {1, 1, 1}}, 1, {}}},
  };
  for (ConvLayer layer : layers) {
    for (const int x_bits : {3, 8}) {
      layer.x_bits = x_bits;
      const auto n = static_cast<float>(layer.w.element_count()) / static_cast<float>(layer.w[0]);
      const ir::Graph graph = grouped_graph(layer);
      const auto plan =
          testing::expect_reference_result(graph, {.batch = 2}, 4 * n * 2 * n * 0x1p-24F);
      EXPECT_EQ(testing::kernel_of(*plan), "int8_conv") << layer.x.to_string();
      EXPECT_EQ(plan->steps().back().arithmetic, KernelArithmetic::kIntegers);
    }
  }
}

TEST(ConvOfGroups, ThatEndWithinFourChannelsGathersForManyWeights) {
  ConvLayer layer;
  layer.x_bits = 8;
  layer.x = {ir::kBatch, 5, 5, 18};
  layer.w = {16, 3, 3, 18};
  const auto few = make_plan(grouped_graph(layer), {.batch = 1});
  EXPECT_EQ(testing::kernel_of(*few), "fixed_order_f32");
  EXPECT_EQ(few->steps().back().refused.at(1).reason,
            "few weights to gather the inputs of a pixel for");
  layer.w = {64, 3, 3, 18};
  EXPECT_EQ(testing::kernel_of(*make_plan(grouped_graph(layer), {.batch = 1})), "int8_conv");
}

TEST(CodedConvActivation, MatchesReference) {
  using Kind = ir::ActivationKind;
  for (const ir::Activation& activation :
       {ir::Activation{Kind::kRelu}, ir::Activation{Kind::kRelu6}, ir::Activation{Kind::kReluN1To1},
        ir::Activation{Kind::kClip, -0.5F, 2}, ir::Activation{Kind::kClip, 2, -0.5F},
        ir::Activation{Kind::kTanh}}) {
    ConvLayer layer;
    layer.conv.activation = activation;
    const auto plan = testing::expect_reference_result(layer_graph(layer), {.batch = 2}, 1e-4F);
    EXPECT_EQ(testing::kernel_of(*plan), "bit_conv");
  }
}

TEST(CodedConvWindow, OfUnsupportedSizeGoesToTheReference) {
  const ir::Dim far = ir::Dim{1} << 20;
  ConvLayer layer;
  layer.x = {ir::kBatch, 7, 96};
  layer.w = {20, 2, 96};
  layer.conv = {{{1}, {far}, {far}, {0}}, 1, {}};
  const auto plan = make_plan(layer_graph(layer), {.batch = 1});
  EXPECT_EQ(testing::kernel_of(*plan), "reference");
  EXPECT_THAT(plan->steps().back().refused.at(0).reason, ::testing::HasSubstr("too far apart"));
}

/// x -> encode -> conv1 -> encode -> conv2 -> + x -> clip -> encode -> conv3, and x + clip.
struct Block {
  ir::Graph graph;
  ir::ValueId inner;  ///< of conv1
  ir::ValueId sum;    ///< of conv2
};

Block residual_block(int bits, const ir::Activation& activation) {
  Random random(21);
  Block block;
  ir::Graph& graph = block.graph;
  const ir::ValueId x =
      graph.add_input("x", ir::dense_type(ir::ElementType::kFloat32, {ir::kBatch, 9, 11, 48}));
  const auto encoded = [&](const std::string& name, ir::ValueId value) {
    return graph.add_node(name, ir::Encode{testing::activation_encoding(bits, true, random)},
                          {value});
  };
  const auto convolved = [&](const std::string& name, ir::ValueId value,
                             const ir::Activation& function) {
    ir::EncodedTensor weights = testing::random_weights(48, 9 * 48, {bits, true}, random);
    weights.shape = {48, 3, 3, 48};
    const auto w = graph.add_constant(name + "/w", std::move(weights));
    const auto bias = graph.add_constant(name + "/b", testing::random_tensor({48}, random));
    const ir::Conv conv{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, function};
    return graph.add_node(name, conv, {value, w, bias});
  };
  block.inner = convolved("conv1", encoded("encode1", x), activation);
  const ir::ValueId conv2 = convolved("conv2", encoded("encode2", block.inner), {});
  block.sum = graph.add_node("sum", ir::Binary{ir::BinaryKind::kAdd, activation}, {x, conv2});
  graph.add_output(convolved("conv3", encoded("encode3", block.sum), {}));
  graph.add_output(graph.add_node("again", ir::Binary{ir::BinaryKind::kAdd, {}}, {x, block.sum}));
  return block;
}

std::vector<std::string> names_of(const Plan& plan) {
  std::vector<std::string> names;
  for (const PlanStep& step : plan.steps()) names.push_back(step.name);
  return names;
}

class FusedConv : public ::testing::TestWithParam<std::tuple<int, ir::Activation>> {};

TEST_P(FusedConv, EqualsItsParts) {
  const auto& [bits, activation] = GetParam();
  const Block block = residual_block(bits, activation);
  ir::Graph apart = block.graph;  // a graph output is not fused
  apart.add_output(block.inner);
  apart.add_output(block.sum);
  Random random(4);
  for (const int threads : {1, 3}) {
    const PlanSettings options{.batch = 2, .threads = threads};
    Session fused(make_plan(block.graph, options));
    Session plain(make_plan(apart, options));
    EXPECT_THAT(names_of(fused.plan()),
                ::testing::ElementsAre("encode1", "conv1", "conv2", "encode3", "conv3", "again"));
    EXPECT_EQ(plain.plan().steps().size(), 8U);
    EXPECT_LT(fused.plan().arena_bytes(), plain.plan().arena_bytes());
    const auto inputs = testing::random_inputs(prepare(block.graph, {.batch = 2}).graph, random);
    std::vector<ir::Tensor> expected = plain.run(inputs);
    while (expected.size() > 2) expected.pop_back();
    EXPECT_TRUE(testing::same_bytes(fused.run(inputs), expected));
  }
}

INSTANTIATE_TEST_SUITE_P(
    Blocks, FusedConv,
    ::testing::Combine(::testing::Values(1, 2, 4),
                       ::testing::Values(ir::Activation{},
                                         ir::Activation{ir::ActivationKind::kRelu},
                                         ir::Activation{ir::ActivationKind::kTanh},
                                         ir::Activation{ir::ActivationKind::kGelu})));

TEST(EqualEncodings, AreWrittenOnceByTheConvBefore) {
  ConvLayer layer;
  ir::Graph graph = layer_graph(layer);
  const ir::ValueId y = graph.outputs()[0];
  graph.set_outputs({});
  Random random(6);
  const auto encoding = testing::activation_encoding(2, true, random);
  const auto channels = static_cast<std::size_t>(graph.value(y).type.shape.back());
  for (const std::string name : {"left", "right"}) {
    const auto same = std::make_shared<const numerics::MatrixEncoding>(*encoding);
    const auto codes = graph.add_node(name + "/encode", ir::Encode{same}, {y});
    ir::EncodedTensor weights = testing::random_weights(5, channels, {1, true}, random);
    weights.shape = {5, 1, 1, static_cast<ir::Dim>(channels)};
    const auto w = graph.add_constant(name + "/w", std::move(weights));
    graph.add_output(
        graph.add_node(name, ir::Conv{{{1, 1}, {1, 1}, {0, 0}, {0, 0}}, 1, {}}, {codes, w}));
  }
  ir::Graph apart = graph;  // a graph output is not fused
  apart.add_output(y);
  Session fused(make_plan(graph, {.batch = 2}));
  Session plain(make_plan(apart, {.batch = 2}));
  EXPECT_THAT(names_of(fused.plan()), ::testing::ElementsAre("encode", "conv", "left", "right"));
  EXPECT_EQ(plain.plan().steps().size(), 5U);
  const auto inputs = testing::random_inputs(prepare(graph, {.batch = 2}).graph, random);
  std::vector<ir::Tensor> expected = plain.run(inputs);
  expected.pop_back();
  EXPECT_TRUE(testing::same_bytes(fused.run(inputs), expected));
}

TEST(CodedConvThreads, DoNotChangeABit) {
  ConvLayer layer;
  layer.x = {ir::kBatch, 40, 40, 12};
  layer.conv.activation = {ir::ActivationKind::kTanh};
  const ir::Graph graph = layer_graph(layer);
  Random random(3);
  std::vector<std::vector<ir::Tensor>> results;
  const auto inputs = testing::random_inputs(prepare(graph, {.batch = 2}).graph, random);
  for (const int threads : {1, 2, 3}) {
    set_num_threads(threads);
    Session session(make_plan(graph, {.batch = 2, .threads = threads}));
    EXPECT_EQ(testing::kernel_of(session.plan()), "bit_conv");
    results.push_back(session.run(inputs));
  }
  set_num_threads(0);
  EXPECT_TRUE(testing::same_bytes(results[0], results[1]));
  EXPECT_TRUE(testing::same_bytes(results[0], results[2]));
}

// Levels of the input are off by half a step, 1/240 of their range, in each tap; the error of the
// weights is negligible.
TEST(DepthwiseConv, OfCodesRunsOnIntegersWhereTheyAreCheaper) {
  for (const int w_bits : {1, 3, 8}) {
    for (const auto granularity : {Granularity::kTensor, Granularity::kChannel}) {
      for (const ir::Dim stride : {1, 2}) {
        ConvLayer layer;
        layer.x = {ir::kBatch, 9, 7, 37};
        layer.w = {37, 3, 3, 1};
        layer.conv.window.strides = {stride, stride};
        layer.conv.groups = 37;
        layer.conv.activation = {ir::ActivationKind::kRelu6};
        layer.x_bits = 4;
        layer.format = {w_bits, true, granularity, 0};
        const auto graph = layer_graph(layer);
        const auto plan = testing::expect_reference_result(graph, {.batch = 2}, 0.05F);
        EXPECT_EQ(testing::kernel_of(*plan), "int8_conv");
        EXPECT_THAT(plan->steps().back().reason, ::testing::HasSubstr("lanes are channels"));
        const PlanSettings exact{.batch = 2, .execution = {.int8_activations = false}};
        EXPECT_NE(testing::kernel_of(*testing::expect_reference_result(graph, exact, 1e-4F)),
                  "int8_conv");
      }
    }
  }
}

TEST(DepthwiseConv, WithMoreOutputsThanChannelsUsesOtherKernels) {
  ConvLayer layer;
  layer.x = {ir::kBatch, 5, 5, 6};
  layer.w = {12, 3, 3, 1};
  layer.conv.groups = 6;
  layer.x_bits = 4;
  layer.format = {3, true};
  const auto plan = testing::expect_reference_result(layer_graph(layer), {.batch = 1}, 0.1F);
  EXPECT_THAT(plan->steps().back().reason,
              ::testing::Not(::testing::HasSubstr("lanes are channels")));
}

}  // namespace
}  // namespace halftone::runtime
