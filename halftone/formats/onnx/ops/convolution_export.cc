// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling, which read and write images: ONNX has channels as axis 1, the graph as
// the last axis.
#include <algorithm>
#include <numeric>

#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/onnx/axis_order.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats::onnx {
namespace {

using ir::Node;
using ir::ValueId;
using onnx_pb::NodeProto;

const ir::Tensor* dense_weights(const Exporter& exporter, ValueId id) {
  const ir::Constant* constant = exporter.graph().constant(id);
  return constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
}

/// Filters [O, kernel..., C / groups] as [O, C / groups, kernel...]: computed ones by a node.
std::string filters(Exporter& exporter, ValueId id) {
  const std::vector<std::size_t> order = channels_first(exporter.type(id).shape.rank());
  if (exporter.codes(id) != nullptr) return exporter.read_numbers(id, order);
  const auto add = [&](ValueId constant) {
    const ir::Tensor& tensor = *dense_weights(exporter, constant);
    return exporter.add_initializer(exporter.name(constant),
                                    encode_tensor(in_order(tensor, order)));
  };
  if (dense_weights(exporter, id) != nullptr) return add(id);
  if (!is_stored_filter(exporter.graph(), id)) return exporter.read_image(id);
  const Node& widening = exporter.graph().node(*exporter.graph().producer(id));
  const auto& op = std::get<ir::DequantizeLinear>(widening.op);
  std::string output = exporter.fresh(exporter.name(id) + "/image");
  exporter.set_node_name(widening.name);
  export_dequantize(exporter, op, {add(widening.inputs[0]), widening.inputs[0]}, output);
  return output;
}

/// [O, kernel..., C / groups] as [C, O / groups, kernel...].
ir::Tensor transposed_filters(const ir::Tensor& tensor, ir::Dim groups) {
  const ir::Shape& shape = tensor.shape();
  const auto kernel = ir::kernel_extents(shape);
  std::vector<ir::Dim> split = {groups, shape[0] / groups};
  std::vector<ir::Dim> joined = {groups * shape.back(), shape[0] / groups};
  std::vector<std::size_t> order = {0, shape.rank(), 1};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    split.push_back(kernel[i]);
    joined.push_back(kernel[i]);
    order.push_back(i + 2);
  }
  split.push_back(shape.back());
  return in_order(tensor.reshaped(ir::Shape(split)), order).reshaped(ir::Shape(joined));
}

/// The same of a constant. Codes have one group: see standard_form().
std::string transposed_filters(Exporter& exporter, ValueId id, ir::Dim groups) {
  if (exporter.codes(id) != nullptr) {
    std::vector<std::size_t> order(exporter.type(id).shape.rank());
    std::iota(order.begin() + 1, order.end(), std::size_t{0});
    order[0] = order.size() - 1;
    return exporter.read_numbers(id, order);
  }
  const ir::Tensor* dense = dense_weights(exporter, id);
  if (dense == nullptr) {
    fail(ErrorKind::kUnsupported, "weights '" + exporter.graph().value(id).name +
                                      "': expected a dense constant, found another value");
  }
  return exporter.add_initializer(exporter.name(id),
                                  encode_tensor(transposed_filters(*dense, groups)));
}

std::vector<std::int64_t> pads_of(const ir::Window& window) {
  std::vector<std::int64_t> pads;
  for (const ir::Dim pad : window.pads_before) pads.push_back(pad);
  for (const ir::Dim pad : window.pads_after) pads.push_back(pad);
  return pads;
}

/// Padding that follows an open extent is that of auto_pad.
void set_pads(NodeProto& proto, const ir::Window& window) {
  for (std::size_t i = 0; i < window.rank(); ++i) {
    const ir::Extent before = ir::extent_of(window.pads_before[i]);
    const ir::Extent all = before + ir::extent_of(window.pads_after[i]);
    if (all.is_number()) continue;
    return set_attribute(proto, "auto_pad", before == all.over(2) ? "SAME_UPPER" : "SAME_LOWER");
  }
  set_attribute(proto, "pads", pads_of(window));
}

void set_window(NodeProto& proto, const ir::Window& window, std::span<const ir::Dim> kernel) {
  set_attribute(proto, "kernel_shape", std::vector<std::int64_t>(kernel.begin(), kernel.end()));
  set_attribute(proto, "strides", window.strides);
  set_attribute(proto, "dilations", window.dilations);
  set_pads(proto, window);
}

/// Of a layer with weights.
bool has_layer_bias(const Node& node) {
  return ir::is_layer(node.op) && node.inputs.size() > 2 && node.inputs[2] != ir::kAbsent;
}

std::vector<std::string> layer_inputs(Exporter& exporter, const Node& node, std::string x,
                                      std::string w) {
  std::vector<std::string> inputs = {std::move(x), std::move(w)};
  if (has_layer_bias(node) && !exporter.adds_bias_apart(node)) {
    inputs.push_back(exporter.read(node.inputs[2]));
  }
  return inputs;
}

/// Adds the bias of a layer to its product. ONNX Runtime moves an Add behind a Conv of constant
/// weights back into it, but no Sub.
void add_bias(Exporter& exporter, const Node& node, const std::string& product,
              const std::string& output) {
  const Exporter::ImageScope scope(exporter, exporter.type(node.output).shape.rank());
  const std::string bias = exporter.read(node.inputs[2]);
  if (exporter.codes(node.inputs[1]) != nullptr) {
    exporter.add_node("Add", {product, bias}, output);
    return;
  }
  const std::string negative = exporter.fresh(output + "/negative_bias");
  exporter.add_node("Neg", {bias}, negative);
  exporter.add_node("Sub", {product, negative}, output);
}

/// Adds what is left of the bias, and the activation. `add` adds the node that computes the result
/// of a name.
template <typename Add>
void export_image(Exporter& exporter, const Node& node, const ir::Activation& activation,
                  const Add& add) {
  const bool fused = activation != ir::Activation{};
  const bool has_sum = has_layer_bias(node) && exporter.adds_bias_apart(node);
  const std::string output = exporter.add_image(node.output);
  const std::string linear = fused ? exporter.fresh(output + "/linear") : output;
  const std::string product = has_sum ? exporter.fresh(output + "/product") : linear;
  add(product);
  if (has_sum) add_bias(exporter, node, product, linear);
  if (fused) export_activation(exporter, activation, linear, output);
}

template <typename Op>
void set_attributes(Exporter& exporter, const Node& node, NodeProto& proto, const Op& op) {
  set_window(proto, op.window, ir::kernel_extents(exporter.type(node.inputs[1]).shape));
  set_attribute(proto, "group", op.groups);
  if constexpr (requires { op.output_padding; }) {
    set_attribute(proto, "output_padding", op.output_padding);
  }
}

/// Writes one of our own operators, which have channels last, as the graph does.
/// @return false, with nothing added, if neither input nor weights are in a basis
template <typename Op>
bool export_layer_in_basis(Exporter& exporter, const Node& node, const Op& op) {
  if (exporter.is_standard() || !take_apart(exporter.graph(), node).in_basis()) return false;
  const bool fused = activation_code(op.activation.kind).has_value();
  const std::string& output = exporter.name(node.output);
  const std::string result = fused ? output : exporter.fresh(output + "/linear");
  set_attributes(exporter, node, export_in_basis(exporter, node, Op::kName, result), op);
  if (!fused) export_activation(exporter, op.activation, result, output);
  return true;
}

void export_operator(Exporter& exporter, const Node& node, const ir::Conv& op) {
  if (export_layer_in_basis(exporter, node, op)) return;
  const std::string x = exporter.read_image(node.inputs[0]);
  const std::string w = filters(exporter, node.inputs[1]);
  exporter.set_node_name(node.name);
  export_image(exporter, node, op.activation, [&](const std::string& result) {
    const std::vector<std::string> inputs = layer_inputs(exporter, node, x, w);
    set_attributes(exporter, node, exporter.add_node("Conv", inputs, result), op);
  });
}

void export_operator(Exporter& exporter, const Node& node, const ir::ConvTranspose& op) {
  if (export_layer_in_basis(exporter, node, op)) return;
  const std::string x = exporter.read_image(node.inputs[0]);
  const std::string w = transposed_filters(exporter, node.inputs[1], op.groups);
  export_image(exporter, node, op.activation, [&](const std::string& result) {
    const std::vector<std::string> inputs = layer_inputs(exporter, node, x, w);
    set_attributes(exporter, node, exporter.add_node("ConvTranspose", inputs, result), op);
  });
}

void export_operator(Exporter& exporter, const Node& node, const ir::Pool& op) {
  // Opset 19 introduced dilations of AveragePool; without dilations an older opset suffices.
  const bool is_dilated =
      std::ranges::any_of(op.window.dilations, [](ir::Dim dilation) { return dilation != 1; });
  const bool is_mean = op.kind == ir::PoolKind::kAverage;
  if (is_mean && is_dilated) exporter.require_opset(19);
  const std::string x = exporter.read_image(node.inputs[0]);
  NodeProto& proto = exporter.add_node(to_string(op.kind), {x}, exporter.add_image(node.output));
  set_attribute(proto, "kernel_shape", op.kernel);
  set_attribute(proto, "strides", op.window.strides);
  if (is_dilated) set_attribute(proto, "dilations", op.window.dilations);
  set_pads(proto, op.window);
  if (op.round_up) set_attribute(proto, "ceil_mode", std::int64_t{1});
  if (is_mean && op.count_padding) set_attribute(proto, "count_include_pad", std::int64_t{1});
}

constexpr WriterEntry kConvolutionWriters[] = {
    node_writer_entry<Exporter, ir::Conv, export_operator>(),
    node_writer_entry<Exporter, ir::ConvTranspose, export_operator>(),
    node_writer_entry<Exporter, ir::Pool, export_operator>(),
};

}  // namespace

bool is_stored_filter(const ir::Graph& graph, ValueId id) {
  const auto producer = graph.producer(id);
  if (!producer || std::ranges::count(graph.outputs(), id) > 0) return false;
  const Node& widening = graph.node(*producer);
  const auto* op = std::get_if<ir::DequantizeLinear>(&widening.op);
  if (op == nullptr || graph.constant(widening.inputs[0]) == nullptr) return false;
  if (op->parameters.scales.size() > 1 && op->parameters.axis != 0) return false;
  return std::ranges::all_of(graph.consumers(id), [&](ir::NodeId reader) {
    const Node& node = graph.node(reader);
    return std::holds_alternative<ir::Conv>(node.op) && node.inputs[1] == id &&
           node.inputs[0] != id;
  });
}

std::span<const WriterEntry> convolution_writers() { return kConvolutionWriters; }

}  // namespace halftone::formats::onnx
