// SPDX-License-Identifier: Apache-2.0
#include "halftone/passes/use_integers.h"

#include <cmath>

#include "halftone/passes/testing.h"

namespace halftone::passes {
namespace {

using ir::ActivationKind;
using ir::ElementType;
using ir::ValueId;

ir::Tensor codes(ir::Shape shape, ElementType element, std::uint64_t seed) {
  Random random(seed);
  return ir::test::uniform_tensor(std::move(shape), random, -100, 100).cast(element);
}

struct IntegerLayer {
  ir::Operator op = ir::FullyConnected{};
  ir::Shape x = {ir::kBatch, 6};
  ir::Shape w = {4, 6};
  bool float_bias = false;
  float bias_scale = 0.5F * 0.25F;  ///< product of the scales of x and w
  bool per_output = false;
  float second_scale = 0.125F;  ///< of the weights, if each output has a scale
  ir::CodeRounding rounding = ir::CodeRounding::kHalfEven;
};

/// Dequantize, layer, Quantize.
ir::Graph graph_of(const IntegerLayer& layer) {
  ir::Graph graph;
  const ValueId q = graph.add_input("q", ir::dense_type(ElementType::kInt8, layer.x));
  const ValueId x = graph.add_node("x", ir::DequantizeLinear{{{0.5F}, {3}, 0}}, {q});
  const auto outputs = static_cast<std::size_t>(layer.w[0]);
  const ValueId wq = graph.add_constant("w", codes(layer.w, ElementType::kInt8, 71));
  ir::AffineParameters weights{{0.25F}, {0}, 0};
  if (layer.per_output) {
    weights.scales.assign(outputs, 0.25F);
    weights.scales[1] = layer.second_scale;
    weights.zero_points.assign(outputs, 0);
  }
  const ValueId w = graph.add_node("wf", ir::DequantizeLinear{weights}, {wq});
  ValueId bias{};
  if (layer.float_bias) {
    bias = graph.add_constant("b", ir::test::random_tensor({layer.w[0]}, 72));
  } else {
    const ValueId b = graph.add_constant("b", codes({layer.w[0]}, ElementType::kInt32, 73));
    ir::AffineParameters sums{{layer.bias_scale}, {0}, 0};
    if (layer.per_output) {
      sums.scales.assign(outputs, layer.bias_scale);
      sums.scales[1] = 0.5F * layer.second_scale;
      sums.zero_points.assign(outputs, 0);
    }
    bias = graph.add_node("bf", ir::DequantizeLinear{sums}, {b});
  }
  const ValueId y = graph.add_node("layer", layer.op, {x, w, bias});
  const ir::QuantizeLinear quantize{{{20}, {-5}, 0}, ElementType::kInt8, layer.rounding};
  graph.add_output(graph.add_node("p", quantize, {y}));
  return graph;
}

std::size_t count_integer_layers(const ir::Graph& graph) {
  std::size_t count = 0;
  for (const ir::NodeId id : graph.topological_order()) {
    count += std::holds_alternative<ir::Requantize>(graph.node(id).op) ? 1U : 0U;
  }
  return count;
}

/// Expects codes that differ by at most `steps`.
void expect_close(const ir::Graph& found, const ir::Graph& expected, int steps) {
  const ir::Shape shape = found.value(found.inputs()[0]).type.shape.with_batch(5);
  const auto inputs = ir::test::list(codes(shape, ElementType::kInt8, 74));
  const auto a = ir::test::run_reference(found, inputs);
  const auto b = ir::test::run_reference(expected, inputs);
  ASSERT_EQ(a[0].type(), b[0].type());
  for (std::size_t i = 0; i < a[0].size(); ++i) {
    EXPECT_LE(std::abs(a[0].as<std::int8_t>()[i] - b[0].as<std::int8_t>()[i]), steps);
  }
}

TEST(UseIntegers, ReplacesLayersBetweenConversions) {
  ir::Conv conv{ir::plain_window(2)};
  conv.window.pads_before = conv.window.pads_after = {1, 1};
  const IntegerLayer cases[] = {
      {},
      {ir::FullyConnected{{ActivationKind::kRelu, 0, 0}, {}}},
      {ir::FullyConnected{{ActivationKind::kRelu6, 0, 0}, {}}},
      {.op = ir::FullyConnected{}, .per_output = true},
      {conv, {ir::kBatch, 5, 4, 3}, {2, 3, 3, 3}},
      {.op = conv, .x = {ir::kBatch, 5, 4, 3}, .w = {2, 3, 3, 3}, .per_output = true},
  };
  for (const IntegerLayer& layer : cases) {
    const ir::Graph before = graph_of(layer);
    ir::Graph graph = before;
    EXPECT_TRUE(use_integers(graph));
    EXPECT_EQ(count_integer_layers(graph), 1U);
    EXPECT_EQ(graph.topological_order().size(), 2U);
    EXPECT_EQ(graph.value(graph.outputs()[0]).name, "p");
    // All scales are powers of two, so that float arithmetic gives the same codes.
    expect_close(graph, before, 0);
    EXPECT_FALSE(use_integers(graph));
  }
}

// TensorFlow Lite's multiplier is 0 if an output with its own scale is negligible.
TEST(UseIntegers, RoundsConvolutionsTwiceForTensorFlowLite) {
  for (const float scale : {0.125F, 1e-12F}) {
    const IntegerLayer layer{.op = ir::Conv{ir::plain_window(2)},
                             .x = {ir::kBatch, 5, 4, 3},
                             .w = {2, 3, 3, 3},
                             .per_output = true,
                             .second_scale = scale,
                             .rounding = ir::CodeRounding::kHalfAway};
    ir::Graph graph = graph_of(layer);
    EXPECT_TRUE(use_integers(graph));
    const auto& op = std::get<ir::Requantize>(test::output_node(graph).op);
    EXPECT_EQ(op.rounding, ir::CodeRounding::kTwice);
    expect_close(graph, graph_of(layer), 1);
  }
}

TEST(UseIntegers, RoundsFullyConnectedLayersOnceForTensorFlowLite) {
  const IntegerLayer layer{.per_output = true, .rounding = ir::CodeRounding::kHalfAway};
  ir::Graph graph = graph_of(layer);
  EXPECT_TRUE(use_integers(graph));
  const auto& op = std::get<ir::Requantize>(test::output_node(graph).op);
  EXPECT_EQ(op.rounding, ir::CodeRounding::kHalfAway);
  // All scales are powers of two, so that float arithmetic gives the same codes.
  expect_close(graph, graph_of(layer), 0);
}

TEST(UseIntegers, RoundsABiasOfFloats) {
  const IntegerLayer layer{.float_bias = true};
  ir::Graph graph = graph_of(layer);
  EXPECT_TRUE(use_integers(graph));
  expect_close(graph, graph_of(layer), 1);
}

// ONNX has channels first: behind a pooling to 1 x 1 or a layer of one channel, a Reshape is
// between the layer and its QuantizeLinear.
TEST(UseIntegers, QuantizesBeforeAMoveOfElements) {
  for (const ir::Operator& move :
       {ir::Operator(ir::Reshape{{ir::kBatch, 2, 2}}), ir::Operator(ir::Transpose{{1, 0}})}) {
    ir::Graph graph = graph_of({});
    const ir::NodeId quantize = *graph.producer(graph.outputs()[0]);
    const ValueId moved = graph.add_node("moved", move, {graph.node(quantize).inputs[0]});
    graph.replace_node(quantize, ir::Operator(graph.node(quantize).op), {moved});
    const ir::Graph before = graph;
    EXPECT_TRUE(use_integers(graph));
    EXPECT_EQ(count_integer_layers(graph), 1U);
    EXPECT_EQ(test::output_node(graph).name, "p");
    expect_close(graph, before, 0);
  }
}

TEST(UseIntegers, KeepsOtherProducts) {
  const IntegerLayer cases[] = {
      {ir::FullyConnected{{ActivationKind::kTanh, 0, 0}, {}}},
      {.bias_scale = 0.25F},
  };
  for (const IntegerLayer& layer : cases) {
    ir::Graph graph = graph_of(layer);
    EXPECT_FALSE(use_integers(graph));
    EXPECT_EQ(count_integer_layers(graph), 0U);
  }
  ir::Graph shown = graph_of({});
  for (const ir::NodeId id : shown.topological_order()) {
    if (shown.node(id).name == "layer") shown.add_output(shown.node(id).output);
  }
  EXPECT_FALSE(use_integers(shown));
}

}  // namespace
}  // namespace halftone::passes
