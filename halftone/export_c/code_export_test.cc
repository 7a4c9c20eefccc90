// SPDX-License-Identifier: Apache-2.0
// Layers of codes of few bits, and of float32, as C give the bits of the runtime.
#include <limits>
#include <utility>
#include <vector>

#include "halftone/export_c/testing.h"
#include "halftone/ir/layer_arithmetic.h"
#include "halftone/ir/testing.h"
#include "halftone/runtime/layer_cases.h"

namespace halftone::export_c {
namespace {

using ir::Shape;
using ir::ValueId;
using ir::test::float_type;
using runtime::testing::LayerCase;

class CodeExport : public testing::WithPrograms {};

/// The same layer with scales of groups of inputs.
ir::Graph in_groups(ir::Graph graph, std::size_t group) {
  const ir::NodeId layer = graph.topological_order().back();
  const ir::Node& node = graph.node(layer);
  const auto& weights = std::get<ir::EncodedTensor>(*graph.constant(node.inputs[1]));
  Random random(3);
  std::vector<numerics::Basis> bases;
  for (std::size_t i = 0; i < weights.codes.rows * ((weights.codes.cols + group - 1) / group);
       ++i) {
    bases.push_back(
        numerics::affine_basis(weights.codes.bits, 0.1F + static_cast<float>(random.uniform()), 1));
  }
  ir::EncodedTensor grouped = weights;
  grouped.encoding = std::make_shared<const numerics::MatrixEncoding>(
      numerics::basis_encoding(bases, true, numerics::Granularity::kGroup, group));
  std::vector<ValueId> inputs = node.inputs;
  inputs[1] = graph.add_constant("grouped", std::move(grouped));
  graph.replace_node(layer, node.op, std::move(inputs));
  return graph;
}

TEST_F(CodeExport, LayersOfAllBits) {
  ir::Graph all;
  const auto cases = runtime::testing::layer_cases();
  for (const LayerCase& layer : cases) {
    for (const auto& [w_bits, x_bits] :
         {std::pair{1, 1}, {2, 2}, {2, 1}, {1, 4}, {3, 3}, {1, 8}, {2, 8}, {4, 8}, {8, 8}}) {
      SCOPED_TRACE(layer.name + " " + std::to_string(w_bits) + " " + std::to_string(x_bits));
      const ir::Graph graph = runtime::testing::graph_of(layer, w_bits, x_bits);
      const auto arithmetic = ir::arithmetic_of(graph, runtime::testing::layer_of(graph));
      if (arithmetic != ir::Arithmetic::kFloat) all.append(graph);
    }
  }
  expect_runs(export_network(all, {}), "-O0");
}

/// Weights of few bits whose inputs are float32: in 8-bit integers, or decoded.
TEST_F(CodeExport, LayersOfFloatInputs) {
  ir::Graph all;
  for (const LayerCase& layer : runtime::testing::layer_cases()) {
    for (const int w_bits : {1, 2, 3, 4, 8}) {
      const ir::Graph graph = runtime::testing::graph_of(layer, w_bits, 0);
      all.append(graph);
      all.append(runtime::testing::with_arithmetic(graph, ir::Arithmetic::kFloat));
    }
  }
  expect_runs(export_network(all, {}), "-O0");
}

/// Scales of groups along a row, of which the last has fewer inputs.
TEST_F(CodeExport, WeightsInGroups) {
  ir::Graph all;
  for (LayerCase layer : runtime::testing::layer_cases()) {
    const bool is_conv = layer.name == "Conv";
    if (layer.name == "ConvDepthwise") continue;
    if (is_conv) layer.x = {1, 5, 4, 16};
    if (is_conv) layer.w = {20, 3, 3, 16};
    for (const auto& [w_bits, x_bits] : {std::pair{2, 0}, {4, 0}, {4, 8}, {8, 0}, {8, 8}}) {
      if (layer.name.starts_with("Conv") && (!is_conv || x_bits == 0)) continue;
      const ir::Graph whole = runtime::testing::graph_of(layer, w_bits, x_bits);
      all.append(in_groups(whole, 512));  // one group
      const ir::Graph graph = in_groups(whole, 16);
      all.append(graph);
      if (x_bits != 0) continue;
      all.append(runtime::testing::with_arithmetic(graph, ir::Arithmetic::kFloat));
    }
  }
  expect_runs(export_network(all, {}), "-O0");
}

/// What the outputs have besides products is computed, not stored.
TEST_F(CodeExport, DepthwiseConvolutionsOfManyChannels) {
  const ir::Conv conv{{{1, 2}, {1, 1}, {1, 1}, {1, 0}}, 40, {}};
  const LayerCase layer{"Conv", conv, {ir::kBatch, 5, 6, 40}, {40, 3, 3, 1}};
  for (const auto& [w_bits, x_bits] : {std::pair{2, 2}, {8, 8}}) {
    const CSources sources = export_network(runtime::testing::graph_of(layer, w_bits, x_bits), {});
    EXPECT_NE(sources.files[1].text.find("ht_depthwise_bases_f32("), std::string::npos);
    expect_runs(sources);
  }
}

TEST_F(CodeExport, KernelsAreThoseOfTheCore) {
  Random random(4);
  ir::Graph graph;
  const ValueId x = graph.add_input("x", float_type({1, 6, 5, 16}));
  const auto encoding = runtime::testing::activation_encoding(2, true, random);
  const ValueId q = graph.add_node("encode", ir::Encode{encoding}, {x});
  ir::EncodedTensor w = runtime::testing::random_weights(8, 144, {2, true}, random);
  w.shape = {8, 3, 3, 16};
  graph.add_output(graph.add_node("conv", ir::Conv{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}},
                                  {q, graph.add_constant("w", std::move(w))}));
  for (const auto& [core, kernel] : {std::pair{"cortex-m4", "ht_conv_signs_f32"},
                                     {"cortex-m55", "ht_conv_signs_f32"},
                                     {"rv32-zbb", "ht_conv_bits_f32"}}) {
    const CSources sources = export_network(graph, {.core = core});
    EXPECT_EQ(sources.report.core, core);
    EXPECT_EQ(sources.report.layers.back().kernel, kernel);
    // The input is rounded to four levels.
    const std::vector<float>& levels = sources.report.inputs.at(0).levels;
    ASSERT_EQ(levels.size(), 4U);
    EXPECT_LT(levels.front(), levels.back());
    expect_runs(sources);
  }
}

TEST_F(CodeExport, ConvolutionsAddAndEncodeWhileTheyRun) {
  Random random(9);
  for (const int x_bits : {2, 8}) {
    ir::Graph graph;
    const ValueId x = graph.add_input("x", float_type({1, 5, 4, 12}));
    const auto conv = [&](ValueId from) {
      const ValueId q = graph.add_node(
          "encode", ir::Encode{runtime::testing::activation_encoding(x_bits, true, random)},
          {from});
      ir::EncodedTensor w = runtime::testing::random_weights(12, 108, {2, true}, random);
      w.shape = {12, 3, 3, 12};
      const ir::Conv op{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}};
      return graph.add_node("conv", op, {q, graph.add_constant("w", std::move(w))});
    };
    const ValueId first = conv(x);
    const ValueId second = conv(first);
    const ValueId sum = graph.add_node(
        "sum", ir::Binary{ir::BinaryKind::kAdd, {ir::ActivationKind::kRelu}}, {second, x});
    graph.add_output(conv(sum));
    graph.add_output(sum);
    expect_runs(graph);
  }
}

/// Floats that an encoder, a residual and a mean read are computed again, not stored.
TEST_F(CodeExport, ReadersTakePixelsOfFloatImages) {
  Random random(11);
  constexpr ir::Dim kChannels = 16;
  for (const auto& each : {std::pair{2, numerics::Granularity::kChannel},
                           {8, numerics::Granularity::kChannel},
                           {8, numerics::Granularity::kGroup}}) {
    const int x_bits = each.first;
    const numerics::Granularity granularity = each.second;
    ir::Graph graph;
    const auto conv = [&](ValueId from, bool is_wide) {
      const ValueId q = graph.add_node(
          "encode", ir::Encode{runtime::testing::activation_encoding(x_bits, true, random)},
          {from});
      const ir::Dim channels = graph.value(from).type.shape.back();
      const auto inputs = static_cast<std::size_t>(channels * (is_wide ? 9 : 1));
      runtime::testing::WeightFormat format{2, true};
      if (granularity == numerics::Granularity::kGroup && channels == kChannels) {
        format.granularity = granularity;
        format.group_size = 8;
      }
      ir::EncodedTensor w = runtime::testing::random_weights(kChannels, inputs, format, random);
      const ir::Dim taps = is_wide ? 3 : 1;
      w.shape = {kChannels, taps, taps, channels};
      const std::vector<ir::Dim> pads(2, is_wide ? 1 : 0);
      const ir::Activation activation =
          channels == 3 ? ir::Activation{ir::ActivationKind::kRelu} : ir::Activation{};
      const ir::Conv op{{{1, 1}, {1, 1}, pads, pads}, 1, activation};
      return graph.add_node("conv", op, {q, graph.add_constant("w", std::move(w))});
    };
    const ValueId first = conv(graph.add_input("x", float_type({1, 20, 5, 3})), true);
    const ValueId second = conv(conv(first, true), true);
    const ValueId sum =
        graph.add_node("sum", ir::Binary{ir::BinaryKind::kAdd, {}}, {second, first});
    const ir::Pool mean{ir::PoolKind::kAverage, {20, 5}, ir::plain_window(2)};
    graph.add_output(graph.add_node("mean", mean, {conv(sum, false)}));
    const CSources sources = export_network(graph, {});
    EXPECT_LT(sources.report.arena_bytes, 20 * 5 * kChannels * sizeof(float));
    for (const std::string line : {"net_layer_1(net, p, pixel);", "net_layer_1(net, p, residual);",
                                   "ht_add_to_f64(pixel, 16, means);"}) {
      EXPECT_NE(sources.files[1].text.find(line), std::string::npos) << line;
    }
    expect_runs(sources);
  }
}

/// Images of codes take their bits alone, and one memory where a layer reads what it overwrites.
TEST_F(CodeExport, ImagesOfCodesArePacked) {
  for (const auto& each : {std::pair{2, 2}, {8, 3}, {2, 1}, {8, 4}}) {
    const int w_bits = each.first;
    const int x_bits = each.second;
    SCOPED_TRACE(std::to_string(w_bits) + " " + std::to_string(x_bits));
    Random random(12);
    ir::Graph graph;
    ValueId y = graph.add_input("x", float_type({1, 9, 10, 4}));
    const auto add = [&](ir::Dim outputs, ir::Dim taps, ir::Dim stride, bool is_depthwise) {
      const ir::Dim channels = graph.value(y).type.shape.back();
      const auto encoding = runtime::testing::activation_encoding(x_bits, true, random);
      y = graph.add_node("encode", ir::Encode{encoding}, {y});
      const ir::Dim inputs = is_depthwise ? 1 : channels;
      ir::EncodedTensor w = runtime::testing::random_weights(
          static_cast<std::size_t>(outputs), static_cast<std::size_t>(taps * taps * inputs),
          {is_depthwise ? 8 : w_bits, true}, random);
      w.shape = {outputs, taps, taps, inputs};
      const std::vector<ir::Dim> pads(2, taps / 2);
      ir::Operator op = ir::Conv{{{stride, stride}, {1, 1}, pads, pads},
                                 is_depthwise ? channels : 1,
                                 {ir::ActivationKind::kRelu}};
      *ir::arithmetic(op) =
          is_depthwise || w_bits == 8 ? ir::Arithmetic::kIntegers : ir::Arithmetic::kBits;
      y = graph.add_node("conv", op, {y, graph.add_constant("w", std::move(w))});
    };
    add(8, 3, 1, false);
    add(8, 3, 1, true);
    add(16, 1, 1, false);
    add(16, 3, 2, true);
    add(36, 1, 1, false);
    add(36, 3, 1, true);
    add(36, 1, 1, false);
    add(4, 3, 1, false);
    graph.add_output(y);
    const CSources sources = export_network(graph, {});
    const std::string& text = sources.files[1].text;
    EXPECT_NE(text.find("ht_next_lines("), std::string::npos);
    EXPECT_EQ(text.find("ht_share_planes(") == std::string::npos, w_bits == 8);
    EXPECT_EQ(text.find("ht_gather_packed(") == std::string::npos, w_bits != 8);
    expect_runs(sources);
  }
}

/// A network of one layer of 8 bits, whose input is encoded at once.
ir::Graph encoded_at_once(const ir::Encode& encode, int readers = 1) {
  Random random(13);
  ir::Graph graph;
  const ValueId x = graph.add_input("x", float_type({1, 5, 6, 3}));
  const ValueId q = graph.add_node("encode", encode, {x});
  ir::EncodedTensor w = runtime::testing::random_weights(4, 27, {8, true}, random);
  w.shape = {4, 3, 3, 3};
  ir::Operator op = ir::Conv{{{1, 1}, {1, 1}, {1, 1}, {1, 1}}, 1, {}};
  *ir::arithmetic(op) = ir::Arithmetic::kIntegers;
  const ValueId y = graph.add_node("conv", op, {q, graph.add_constant("w", std::move(w))});
  graph.add_output(y);
  if (readers > 1)
    graph.add_output(graph.add_node("tanh", ir::Unary{{ir::ActivationKind::kTanh}}, {x}));
  return graph;
}

ir::Encode even_encode(int bits, float scale, float zero) {
  return {std::make_shared<numerics::MatrixEncoding>(
      numerics::tensor_encoding(numerics::affine_basis(bits, scale, zero)))};
}

TEST_F(CodeExport, InputsMayBeCodesAndLieOutside) {
  const ir::Graph graph = encoded_at_once(even_encode(8, 0.25F, 3.5F));
  const std::size_t whole = export_network(graph, {}).report.arena_bytes;
  for (const bool pointers : {false, true}) {
    const CSources sources = export_network(graph, {.input_codes = true, .pointers = pointers});
    const v0::CPort& input = sources.report.inputs.at(0);
    EXPECT_EQ(input.type, "int8");
    EXPECT_EQ(input.scale, 0.25);
    // Code -128 is the lowest of 256 levels.
    EXPECT_EQ(input.offset - 128 * input.scale, -3.5 * 0.25);
    EXPECT_LE(sources.report.arena_bytes, whole - (pointers ? 5 * 6 * 4 * sizeof(float) : 0));
    EXPECT_EQ(
        sources.files[0].text.find("const int8_t *input_0, float *output_0);") != std::string::npos,
        pointers);
    expect_runs(sources);
  }
  expect_runs(export_network(graph, {.pointers = true}));
}

TEST_F(CodeExport, RefusesCodesOfInputsThatNeedNumbers) {
  for (const ir::Graph& graph :
       {encoded_at_once(even_encode(2, 1, 0)), encoded_at_once(even_encode(8, 1, 0), 2)}) {
    expect_error(ErrorKind::kUnsupported, "input 'x': it takes codes only if one encoder of 8 bits",
                 [&] { export_network(graph, {.input_codes = true}); });
  }
}

TEST_F(CodeExport, Floats) {
  Random random(10);
  ir::Graph graph;
  const ValueId x = graph.add_input("x", float_type({1, 6, 5, 4}));
  const ValueId w = graph.add_constant("w", ir::test::random_tensor({6, 3, 3, 2}, random));
  const ValueId c = graph.add_constant("c", ir::test::random_tensor({1, 1, 5, 1}, random));
  const ValueId conv = graph.add_node(
      "conv", ir::Conv{{{2, 1}, {1, 1}, {1, 1}, {1, 1}}, 2, {ir::ActivationKind::kRelu6}}, {x, w});
  ValueId y = conv;
  for (const auto kind : {ir::BinaryKind::kSub, ir::BinaryKind::kDiv, ir::BinaryKind::kMul}) {
    y = graph.add_node("binary", ir::Binary{kind, {}}, {y, c});
  }
  for (const auto kind : {ir::PoolKind::kMax, ir::PoolKind::kAverage}) {
    const ir::Window window{{1, 2}, {1, 1}, {1, 1}, {1, 1}};
    y = graph.add_node("pool", ir::Pool{kind, {2, 3}, window, kind == ir::PoolKind::kAverage}, {y});
  }
  y = graph.add_node("sigmoid", ir::Unary{{ir::ActivationKind::kSigmoid}}, {y});
  const Shape& shape = graph.value(y).type.shape;
  const auto count = static_cast<ir::Dim>(shape.element_count());
  y = graph.add_node("flat", ir::Reshape{{1, count}}, {y});
  const ValueId v = graph.add_constant("v", ir::test::random_tensor({33, count}, random, 3));
  y = graph.add_node("dense", ir::FullyConnected{{ir::ActivationKind::kTanh}}, {y, v});
  graph.add_output(graph.add_node("softmax", ir::Softmax{1}, {y}));
  expect_runs(graph);
}

/// Windows whose taps all lie in the padding.
TEST_F(CodeExport, PoolsOfPaddingAlone) {
  ir::Graph graph;
  const ValueId x = graph.add_input("x", float_type({1, 2, 2, 3}));
  const ir::Window window{{1, 1}, {3, 3}, {1, 1}, {1, 1}};
  for (const auto kind : {ir::PoolKind::kMax, ir::PoolKind::kAverage}) {
    graph.add_output(graph.add_node("pool", ir::Pool{kind, {2, 2}, window}, {x}));
  }
  expect_runs(graph);
}

/// Zeros, infinities, and negative numbers with integers and others.
TEST_F(CodeExport, Powers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const std::vector<float> numbers = {0,  -0.0F, 1,  -1,        2,          -2,   0.5F,
                                      -3, 2.5F,  -7, kInfinity, -kInfinity, 1e9F, -1e-20F};
  const auto count = static_cast<ir::Dim>(numbers.size());
  ir::Graph graph;
  const ValueId x = graph.add_input("x", float_type({1, 1}));
  const ValueId a = graph.add_constant("a", ir::test::tensor<float>({count, 1}, numbers));
  const ValueId b = graph.add_constant("b", ir::test::tensor<float>({1, count}, numbers));
  const ValueId powers = graph.add_node("powers", ir::Binary{ir::BinaryKind::kPow, {}}, {a, b});
  graph.add_output(graph.add_node("x^a", ir::Binary{ir::BinaryKind::kPow, {}}, {x, a}));
  graph.add_output(graph.add_node("a^x", ir::Binary{ir::BinaryKind::kPow, {}}, {a, x}));
  graph.add_output(graph.add_node("all", ir::Binary{ir::BinaryKind::kAdd, {}}, {powers, x}));
  expect_runs(graph);
}

}  // namespace
}  // namespace halftone::export_c
