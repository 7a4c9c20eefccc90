// SPDX-License-Identifier: Apache-2.0
// Convolutions and pooling, written between two transposes, because ONNX has channels as axis 1 and
// the graph as the last axis.
#include <algorithm>
#include <numeric>

#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/ir/ops/traits.h"

namespace halftone::formats::onnx {
namespace {

using ir::Node;
using ir::ValueId;
using onnx_pb::NodeProto;

std::vector<std::int64_t> order_channels_first(std::size_t rank) {
  std::vector<std::int64_t> permutation(rank);
  std::iota(permutation.begin() + 2, permutation.end(), std::int64_t{1});
  permutation[1] = static_cast<std::int64_t>(rank) - 1;
  return permutation;
}
std::vector<std::int64_t> order_channels_last(std::size_t rank) {
  std::vector<std::int64_t> permutation(rank);
  std::iota(permutation.begin() + 1, permutation.end(), std::int64_t{2});
  permutation.back() = 1;
  return permutation;
}

std::string transposed(Exporter& exporter, const std::string& input,
                       const std::vector<std::int64_t>& permutation, const std::string& output) {
  set_attribute(exporter.add_node("Transpose", {input}, output), "perm", permutation);
  return output;
}

std::string image(Exporter& exporter, const Node& node) {
  const std::size_t rank = exporter.type(node.output).shape.rank();
  const std::string name = exporter.fresh(exporter.name(node.output) + "/channels_first");
  return transposed(exporter, exporter.read(node.inputs[0]), order_channels_first(rank), name);
}

const ir::Tensor* dense_weights(const Exporter& exporter, ValueId id) {
  const ir::Constant* constant = exporter.graph().constant(id);
  return constant == nullptr ? nullptr : std::get_if<ir::Tensor>(constant);
}

ir::Tensor in_order(const ir::Tensor& tensor, const std::vector<std::int64_t>& permutation) {
  const std::vector<std::size_t> order(permutation.begin(), permutation.end());
  const ir::Tensor* input = &tensor;
  return ir::evaluate_operator(ir::Transpose{order}, {&input, 1});
}

/// Filters [O, kernel..., C / groups] as [O, C / groups, kernel...]: computed ones by a node.
std::string filters(Exporter& exporter, ValueId id) {
  const auto permutation = order_channels_first(exporter.type(id).shape.rank());
  if (exporter.codes(id) != nullptr) {
    return exporter.read_numbers(id, {permutation.begin(), permutation.end()});
  }
  if (const ir::Tensor* dense = dense_weights(exporter, id)) {
    return exporter.add_initializer(exporter.name(id),
                                    encode_tensor(in_order(*dense, permutation)));
  }
  return transposed(exporter, exporter.read(id), permutation,
                    exporter.fresh(exporter.name(id) + "/channels_first"));
}

/// [O, kernel..., C / groups] as [C, O / groups, kernel...].
ir::Tensor transposed_filters(const ir::Tensor& tensor, ir::Dim groups) {
  const ir::Shape& shape = tensor.shape();
  const auto kernel = ir::kernel_extents(shape);
  std::vector<ir::Dim> split = {groups, shape[0] / groups};
  std::vector<ir::Dim> joined = {groups * shape.back(), shape[0] / groups};
  std::vector<std::int64_t> order = {0, static_cast<std::int64_t>(shape.rank()), 1};
  for (std::size_t i = 0; i < kernel.size(); ++i) {
    split.push_back(kernel[i]);
    joined.push_back(kernel[i]);
    order.push_back(static_cast<std::int64_t>(i) + 2);
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

void set_window(NodeProto& proto, const ir::Window& window, std::span<const ir::Dim> kernel) {
  set_attribute(proto, "kernel_shape", std::vector<std::int64_t>(kernel.begin(), kernel.end()));
  set_attribute(proto, "strides", window.strides);
  set_attribute(proto, "dilations", window.dilations);
  set_attribute(proto, "pads", pads_of(window));
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

/// Adds the transpose back, what is left of the bias, and the activation.
void finish(Exporter& exporter, const Node& node, const std::string& result,
            const ir::Activation& activation) {
  const bool fused = activation != ir::Activation{};
  const std::string& output = exporter.name(node.output);
  const std::string linear = fused ? exporter.fresh(output + "/linear") : output;
  const bool adds = has_layer_bias(node) && exporter.adds_bias_apart(node);
  const std::string product = adds ? exporter.fresh(output + "/product") : linear;
  transposed(exporter, result, order_channels_last(exporter.type(node.output).shape.rank()),
             product);
  if (adds) exporter.add_node("Add", {product, exporter.read(node.inputs[2])}, linear);
  if (fused) export_activation(exporter, activation, linear, output);
}

std::string fresh_result(Exporter& exporter, const Node& node) {
  return exporter.fresh(exporter.name(node.output) + "/image");
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
  const std::string x = image(exporter, node);
  const std::string w = filters(exporter, node.inputs[1]);
  const std::string result = fresh_result(exporter, node);
  set_attributes(exporter, node,
                 exporter.add_node("Conv", layer_inputs(exporter, node, x, w), result), op);
  finish(exporter, node, result, op.activation);
}

void export_operator(Exporter& exporter, const Node& node, const ir::ConvTranspose& op) {
  if (export_layer_in_basis(exporter, node, op)) return;
  const std::string x = image(exporter, node);
  const std::string w = transposed_filters(exporter, node.inputs[1], op.groups);
  const std::string result = fresh_result(exporter, node);
  NodeProto& proto = exporter.add_node("ConvTranspose", layer_inputs(exporter, node, x, w), result);
  set_attributes(exporter, node, proto, op);
  finish(exporter, node, result, op.activation);
}

void export_operator(Exporter& exporter, const Node& node, const ir::Pool& op) {
  // Opset 19 introduced dilations of AveragePool; without dilations an older opset suffices.
  const bool is_dilated =
      std::ranges::any_of(op.window.dilations, [](ir::Dim dilation) { return dilation != 1; });
  const bool is_mean = op.kind == ir::PoolKind::kAverage;
  if (is_mean && is_dilated) exporter.require_opset(19);
  const std::string x = image(exporter, node);
  const std::string result = fresh_result(exporter, node);
  NodeProto& proto = exporter.add_node(to_string(op.kind), {x}, result);
  set_attribute(proto, "kernel_shape", op.kernel);
  set_attribute(proto, "strides", op.window.strides);
  if (is_dilated) set_attribute(proto, "dilations", op.window.dilations);
  set_attribute(proto, "pads", pads_of(op.window));
  if (op.round_up) set_attribute(proto, "ceil_mode", std::int64_t{1});
  if (is_mean && op.count_padding) set_attribute(proto, "count_include_pad", std::int64_t{1});
  finish(exporter, node, result, {});
}

constexpr WriterEntry kConvolutionWriters[] = {
    node_writer_entry<Exporter, ir::Conv, export_operator>(),
    node_writer_entry<Exporter, ir::ConvTranspose, export_operator>(),
    node_writer_entry<Exporter, ir::Pool, export_operator>(),
};

}  // namespace

std::span<const WriterEntry> convolution_writers() { return kConvolutionWriters; }

}  // namespace halftone::formats::onnx
