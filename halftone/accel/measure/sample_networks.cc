// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/measure/sample_networks.h"

#include <cmath>
#include <string>
#include <utility>

#include "halftone/base/random.h"

namespace halftone::accel {
namespace {

using ir::Dim;

/// Weights around zero.
ir::Tensor weights(ir::Shape shape) {
  Random random(1);
  ir::Tensor tensor(ir::ElementType::kFloat32, std::move(shape));
  for (float& value : tensor.as<float>()) value = static_cast<float>(random.normal());
  return tensor;
}

ir::ValueType floats(ir::Shape shape) {
  return ir::dense_type(ir::ElementType::kFloat32, std::move(shape));
}

struct ConvSize {
  Dim height;
  Dim width;
  Dim channels;  ///< in
  Dim filters;
  Dim kernel;
  Dim stride = 1;
};

constexpr ir::Activation kRelu{ir::ActivationKind::kRelu};

ir::ValueId add_conv(ir::Graph& graph, ir::ValueId x, const ConvSize& size, bool is_depthwise) {
  const Dim pad = size.kernel / 2;
  ir::Conv conv;
  conv.window = {{size.stride, size.stride}, {1, 1}, {pad, pad}, {pad, pad}};
  conv.groups = is_depthwise ? size.channels : 1;
  conv.activation = kRelu;
  const Dim per_group = is_depthwise ? 1 : size.channels;
  const ir::ValueId w =
      graph.add_constant("w", weights({size.filters, size.kernel, size.kernel, per_group}));
  const ir::ValueId b = graph.add_constant("b", weights({size.filters}));
  return graph.add_node("conv", conv, {x, w, b});
}

ir::Graph conv_network(const ConvSize& size, bool is_depthwise) {
  ir::Graph graph;
  const ir::ValueId x = graph.add_input("x", floats({1, size.height, size.width, size.channels}));
  const ir::ValueId first = add_conv(graph, x, size, is_depthwise);
  const auto reduced = [&](Dim extent) { return (extent + size.stride - 1) / size.stride; };
  const ConvSize next{reduced(size.height), reduced(size.width), size.filters, size.filters,
                      size.kernel};
  graph.add_output(add_conv(graph, first, next, is_depthwise));
  return graph;
}

ir::Graph dense_network(Dim rows, Dim inputs, Dim outputs) {
  ir::Graph graph;
  const ir::ValueId x = graph.add_input("x", floats({rows, inputs}));
  const auto layer = [&](ir::ValueId from, Dim in, Dim out) {
    const ir::ValueId w = graph.add_constant("w", weights({out, in}));
    const ir::ValueId b = graph.add_constant("b", weights({out}));
    return graph.add_node("dense", ir::FullyConnected{kRelu}, {from, w, b});
  };
  graph.add_output(layer(layer(x, inputs, outputs), outputs, outputs));
  return graph;
}

ir::Graph one_node(const ir::Operator& op, const ir::Shape& shape) {
  ir::Graph graph;
  graph.add_output(graph.add_node("node", op, {graph.add_input("x", floats(shape))}));
  return graph;
}

ir::Graph two_inputs(const ir::Operator& op, const ir::Shape& shape, const ir::Shape& other) {
  ir::Graph graph;
  const ir::ValueId x = graph.add_input("x", floats(shape));
  const bool is_constant = other != shape;
  const ir::ValueId y =
      is_constant ? graph.add_constant("c", weights(other)) : graph.add_input("y", floats(shape));
  graph.add_output(graph.add_node("node", op, {x, y}));
  return graph;
}

/// Operators on square images.
void add_image_operators(Dim extent, Dim channels, std::vector<ir::Graph>& graphs) {
  const ir::Shape shape{1, extent, extent, channels};
  const auto side = static_cast<std::size_t>(extent);
  graphs.push_back(two_inputs(ir::Binary{ir::BinaryKind::kAdd, {}}, shape, shape));
  for (const ir::BinaryKind kind :
       {ir::BinaryKind::kSub, ir::BinaryKind::kMul, ir::BinaryKind::kDiv}) {
    graphs.push_back(two_inputs(ir::Binary{kind, {}}, shape, {channels}));
  }
  for (const ir::PoolKind kind : {ir::PoolKind::kMax, ir::PoolKind::kAverage}) {
    graphs.push_back(
        one_node(ir::Pool{kind, {2, 2}, {{2, 2}, {1, 1}, {0, 0}, {0, 0}}, false, false}, shape));
    graphs.push_back(one_node(
        ir::Pool{kind, {extent, extent}, {{1, 1}, {1, 1}, {0, 0}, {0, 0}}, false, false}, shape));
  }
  graphs.push_back(one_node(ir::Transpose{{0, 3, 1, 2}}, shape));
  graphs.push_back(one_node(ir::Transpose{{0, 2, 3, 1}}, shape));
  graphs.push_back(one_node(ir::Slice{1, 0, 2, side / 2}, shape));
  graphs.push_back(one_node(ir::Slice{2, 0, 2, side / 2}, shape));
  graphs.push_back(one_node(ir::Pad{ir::PadMode::kConstant, {0, 0, 0, 4}, {0, 0, 0, 4}}, shape));
  for (const ir::ActivationKind kind : {ir::ActivationKind::kRelu, ir::ActivationKind::kTanh,
                                        ir::ActivationKind::kSigmoid, ir::ActivationKind::kGelu}) {
    graphs.push_back(one_node(ir::Unary{{kind}}, shape));
  }
}

}  // namespace

std::vector<ir::Graph> sample_layers() {
  std::vector<ir::Graph> graphs;
  for (const ConvSize& size :
       {ConvSize{32, 32, 3, 16, 3}, ConvSize{32, 32, 16, 16, 3}, ConvSize{32, 32, 16, 32, 3, 2},
        ConvSize{16, 16, 32, 32, 3}, ConvSize{16, 16, 32, 64, 3, 2}, ConvSize{8, 8, 64, 64, 3},
        ConvSize{12, 12, 64, 64, 1}, ConvSize{16, 16, 16, 32, 1}, ConvSize{24, 24, 32, 64, 1},
        ConvSize{28, 28, 64, 96, 3}, ConvSize{49, 10, 1, 32, 5, 2}, ConvSize{24, 12, 1, 48, 7, 2},
        ConvSize{28, 28, 1, 16, 3}, ConvSize{32, 32, 3, 24, 5, 2}, ConvSize{20, 6, 48, 64, 1}}) {
    graphs.push_back(conv_network(size, false));
  }
  for (const ConvSize& size :
       {ConvSize{11, 11, 64, 64, 3}, ConvSize{24, 24, 32, 32, 3}, ConvSize{48, 48, 16, 16, 3},
        ConvSize{12, 12, 128, 128, 3}, ConvSize{20, 6, 64, 64, 3}}) {
    graphs.push_back(conv_network(size, true));
  }
  for (const Dim rows : {1, 8}) {
    for (const auto& [inputs, outputs] : {std::pair<Dim, Dim>{64, 10},
                                          {128, 128},
                                          {640, 128},
                                          {784, 320},
                                          {320, 700},
                                          {1024, 512}}) {
      graphs.push_back(dense_network(rows, inputs, outputs));
    }
  }
  return graphs;
}

ir::Graph row_layer(double weight_bytes) {
  const auto side = static_cast<Dim>(std::sqrt(weight_bytes / 4));
  ir::Graph graph;
  const ir::ValueId x = graph.add_input("x", floats({1, side}));
  const ir::ValueId w = graph.add_constant("w", weights({side, side}));
  graph.add_output(graph.add_node("dense", ir::FullyConnected{}, {x, w}));
  return graph;
}

std::vector<ir::Graph> sample_operators() {
  std::vector<ir::Graph> graphs;
  add_image_operators(32, 3, graphs);
  add_image_operators(32, 16, graphs);
  add_image_operators(16, 32, graphs);
  add_image_operators(8, 64, graphs);
  add_image_operators(56, 64, graphs);
  for (const Dim length : {10, 64, 1000}) {
    graphs.push_back(one_node(ir::Softmax{1, 1, false}, {1, length}));
    graphs.push_back(one_node(ir::Softmax{1, 1, false}, {64, length}));
    graphs.push_back(one_node(ir::Normalize{{1}, 1e-5F, true}, {64, length}));
  }
  return graphs;
}

}  // namespace halftone::accel
