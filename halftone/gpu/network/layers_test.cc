// SPDX-License-Identifier: Apache-2.0
// Layers on a device have the bytes of runtime/, which has kernels of each arithmetic.
#include <gtest/gtest.h>

#include "halftone/gpu/network/testing.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/runtime/layer_cases.h"

namespace halftone::gpu {
namespace {

using LayersOnDevice = OnStepDevice;
using ir::Arithmetic;
using ir::kBatch;
using runtime::testing::graph_of;
using runtime::testing::LayerCase;
using runtime::testing::WeightFormat;
using runtime::testing::with_arithmetic;

/// Layers whose channels, taps and outputs fill no words or blocks, and one whose do.
std::vector<LayerCase> ragged_layers() {
  const ir::Window usual{{1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const ir::Window sparse{{2, 1}, {2, 3}, {2, 0}, {1, 3}};
  const ir::Conv conv{usual, 1, {}};
  ir::Conv depthwise = conv;
  depthwise.groups = 12;
  ir::Conv groups = conv;
  groups.groups = 3;
  const ir::FullyConnected dense{};
  return {{"dense", dense, {kBatch, 70}, {37, 70}},
          {"dense of one input", dense, {kBatch, 1}, {3, 1}},
          {"dense with a function",
           ir::FullyConnected{{ir::ActivationKind::kTanh}},
           {kBatch, 64},
           {32, 64}},
          {"dense rows", dense, {kBatch, 3, 33}, {20, 33}},
          {"conv", conv, {kBatch, 5, 4, 12}, {20, 3, 3, 12}},
          {"conv of words", conv, {kBatch, 4, 4, 64}, {16, 3, 3, 64}},
          {"conv of odd channels", conv, {kBatch, 5, 6, 7}, {17, 3, 3, 7}},
          {"sparse conv", ir::Conv{sparse, 1, {}}, {kBatch, 9, 7, 5}, {18, 3, 2, 5}},
          {"conv in groups", groups, {kBatch, 5, 4, 36}, {48, 3, 3, 12}},
          {"depthwise", depthwise, {kBatch, 5, 4, 12}, {12, 3, 3, 1}},
          {"pointwise",
           ir::Conv{{{1, 1}, {1, 1}, {0, 0}, {0, 0}}, 1, {}},
           {kBatch, 6, 6, 20},
           {24, 1, 1, 20}}};
}

/// Whether a layer may have an arithmetic.
bool may_have(const ir::Graph& graph, Arithmetic arithmetic) {
  return !ir::why_not(arithmetic, graph, runtime::testing::layer_of(graph));
}

void expect_arithmetic(const LayerCase& layer, int bits, Arithmetic arithmetic,
                       const std::function<void(const ir::Graph&)>& expect) {
  for (const int x_bits : {bits, 9 - bits}) {
    const ir::Graph graph = graph_of(layer, bits, x_bits);
    if (!may_have(graph, arithmetic)) continue;
    SCOPED_TRACE(layer.name + ", weights " + std::to_string(bits) + ", inputs " +
                 std::to_string(x_bits));
    expect(with_arithmetic(graph, arithmetic));
  }
}

TEST_F(LayersOnDevice, OfBitsHaveTheBytesOfTheProcessor) {
  for (const LayerCase& layer : ragged_layers()) {
    for (int bits = 1; bits <= 8; ++bits) {
      expect_arithmetic(layer, bits, Arithmetic::kBits,
                        [](const ir::Graph& graph) { expect_on_device(graph, 1); });
    }
    expect_arithmetic(layer, 2, Arithmetic::kBits,
                      [](const ir::Graph& graph) { expect_on_device(graph, 7); });
  }
}

TEST_F(LayersOnDevice, OfIntegersHaveTheBytesOfTheProcessor) {
  for (const LayerCase& layer : ragged_layers()) {
    for (int bits = 1; bits <= 8; ++bits) {
      expect_arithmetic(layer, bits, Arithmetic::kIntegers,
                        [](const ir::Graph& graph) { expect_on_device(graph, 1); });
    }
    expect_arithmetic(layer, 4, Arithmetic::kIntegers,
                      [](const ir::Graph& graph) { expect_on_device(graph, 7); });
  }
}

TEST_F(LayersOnDevice, RoundTheirFloatInputs) {
  for (const LayerCase& layer : ragged_layers()) {
    const ir::Graph graph = graph_of(layer, 4, 0);
    if (!may_have(graph, Arithmetic::kIntegers)) continue;
    SCOPED_TRACE(layer.name);
    for (const std::size_t batch : {1U, 7U}) {
      expect_on_device(with_arithmetic(graph, Arithmetic::kIntegers), batch);
    }
  }
}

/// A layer with weights of a format, a bias and a function, whose input is encoded.
ir::Graph layer_of_format(const LayerCase& layer, const WeightFormat& format, int x_bits,
                          bool x_offset) {
  Random random(17);
  ir::Graph graph;
  ir::ValueId x = graph.add_input("x", ir::test::float_type(layer.x));
  const auto encoding = runtime::testing::activation_encoding(x_bits, x_offset, random);
  x = graph.add_node("encode", ir::Encode{encoding}, {x});
  const auto rows = static_cast<std::size_t>(layer.w[0]);
  ir::EncodedTensor weights =
      runtime::testing::random_weights(rows, layer.w.element_count() / rows, format, random);
  weights.shape = layer.w;
  const auto w = graph.add_constant("w", std::move(weights));
  const auto bias =
      graph.add_constant("bias", ir::test::random_tensor({static_cast<ir::Dim>(rows)}, random));
  graph.add_output(graph.add_node("layer", layer.op, {x, w, bias}));
  return graph;
}

TEST_F(LayersOnDevice, TakeEveryGranularityOffsetAndBias) {
  using enum numerics::Granularity;
  const WeightFormat formats[] = {
      {2, false, kTensor},    {2, true, kTensor},    {3, false, kChannel}, {3, true, kChannel},
      {4, false, kGroup, 16}, {4, true, kGroup, 12}, {2, true, kGroup, 5}, {8, true, kGroup, 1000}};
  for (const LayerCase& layer : ragged_layers()) {
    for (const WeightFormat& format : formats) {
      for (const bool x_offset : {false, true}) {
        const ir::Graph graph = layer_of_format(layer, format, 3, x_offset);
        for (const Arithmetic each : {Arithmetic::kBits, Arithmetic::kIntegers}) {
          if (!may_have(graph, each)) continue;
          SCOPED_TRACE(layer.name + " " + std::to_string(format.bits) + " bits, group " +
                       std::to_string(format.group_size));
          expect_on_device(with_arithmetic(graph, each), 2);
        }
      }
    }
  }
}

TEST_F(LayersOnDevice, OfFloatsHaveTheBytesOfTheFixedOrder) {
  for (const LayerCase& layer : ragged_layers()) {
    Random random(5);
    ir::Graph graph;
    const auto x = graph.add_input("x", ir::test::float_type(layer.x));
    const auto w = graph.add_constant("w", ir::test::random_tensor(layer.w, random));
    const auto bias = graph.add_constant("bias", ir::test::random_tensor({layer.w[0]}, random));
    ir::Operator op = layer.op;
    if (auto* conv = std::get_if<ir::Conv>(&op)) conv->activation = {ir::ActivationKind::kRelu6};
    graph.add_output(graph.add_node("layer", op, {x, w, bias}));
    SCOPED_TRACE(layer.name);
    for (const std::size_t batch : {1U, 7U}) expect_on_device(graph, batch);
  }
}

/// A residual network of two convolutions: encode, conv, relu, encode, conv, add, relu, encode,
/// dense. The planner moves sums, limits and codes into the convolutions.
ir::Graph residual_network(int w_bits, int x_bits, ir::Activation activation) {
  Random random(23);
  ir::Graph graph;
  const auto encoded = [&](ir::ValueId x) {
    const auto encoding = runtime::testing::activation_encoding(x_bits, true, random);
    return graph.add_node("encode", ir::Encode{encoding}, {x});
  };
  const auto conv = [&](ir::ValueId x) {
    ir::EncodedTensor weights = runtime::testing::random_weights(20, 180, {w_bits, true}, random);
    weights.shape = {20, 3, 3, 20};
    const auto w = graph.add_constant("w", std::move(weights));
    const ir::Conv op{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}};
    return graph.add_node("conv", op, {encoded(x), w});
  };
  const auto x = graph.add_input("x", ir::test::float_type({kBatch, 6, 5, 20}));
  const auto first = graph.add_node("act", ir::Unary{activation}, {conv(x)});
  const auto sum =
      graph.add_node("sum", ir::Binary{ir::BinaryKind::kAdd, activation}, {conv(first), first});
  ir::EncodedTensor weights = runtime::testing::random_weights(7, 20, {w_bits, true}, random);
  const auto w = graph.add_constant("w", std::move(weights));
  graph.add_output(graph.add_node("dense", ir::FullyConnected{}, {encoded(sum), w}));
  return graph;
}

TEST_F(LayersOnDevice, AddResidualsAndEncodeTheirOutputs) {
  const ir::Activation functions[] = {{ir::ActivationKind::kRelu},
                                      {ir::ActivationKind::kClip, -0.25F, 0.75F},
                                      {ir::ActivationKind::kTanh},
                                      {ir::ActivationKind::kSilu},
                                      {}};
  for (const ir::Activation& function : functions) {
    for (const int bits : {1, 2, 4, 8}) {
      SCOPED_TRACE(ir::to_string(function) + " " + std::to_string(bits));
      expect_on_device(residual_network(bits, bits, function), 3);
    }
  }
}

}  // namespace
}  // namespace halftone::gpu
