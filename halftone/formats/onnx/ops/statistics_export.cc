// SPDX-License-Identifier: Apache-2.0
// Reductions, sorting and normalizations.
#include <algorithm>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::Node;
using onnx_pb::NodeProto;

std::vector<std::int64_t> signed_axes(const std::vector<std::size_t>& axes) {
  return {axes.begin(), axes.end()};
}

/// Adds a reduction from one name to another; the axes are an input from operator set 18 on.
void add_reduction(Exporter& exporter, const ir::Reduce& op, const std::string& input,
                   const std::string& output) {
  exporter.require_opset(18);
  const std::string axes = exporter.add_integers(output + "/axes", signed_axes(op.axes));
  NodeProto& proto =
      exporter.add_node("Reduce" + std::string(to_string(op.kind)), {input, axes}, output);
  set_attribute(proto, "keepdims", std::int64_t{op.keep_dims ? 1 : 0});
  if (op.axes.empty()) set_attribute(proto, "noop_with_empty_axes", std::int64_t{1});
}

/// Whether the axes are the last ones of a shape.
bool are_last(const std::vector<std::size_t>& axes, std::size_t rank) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (axes[i] != rank - axes.size() + i) return false;
  }
  return !axes.empty();
}

void export_layer_normalization(Exporter& exporter, const Node& node, const ir::Normalize& op) {
  const ir::Shape& shape = exporter.type(node.output).shape;
  const auto dims = shape.dims().last(op.axes.size());
  ir::Tensor ones(ir::ElementType::kFloat32, ir::Shape({dims.begin(), dims.end()}));
  std::ranges::fill(ones.as<float>(), 1.0F);
  const std::string& output = exporter.name(node.output);
  const std::string scale = exporter.add_initializer(output + "/scale", encode_tensor(ones));
  NodeProto& proto =
      exporter.add_node("LayerNormalization", {exporter.read(node.inputs[0]), scale}, output);
  set_attribute(proto, "axis", static_cast<std::int64_t>(op.axes[0]));
  set_attribute(proto, "epsilon", op.epsilon);
}

}  // namespace

void export_operator(Exporter& exporter, const Node& node, const ir::Reduce& op) {
  add_reduction(exporter, op, exporter.read(node.inputs[0]), exporter.name(node.output));
}

void export_operator(Exporter& exporter, const Node& node, const ir::ArgReduce& op) {
  NodeProto& proto = exporter.add_node(op.largest ? "ArgMax" : "ArgMin",
                                       {exporter.read(node.inputs[0])}, exporter.name(node.output));
  set_attribute(proto, "axis", static_cast<std::int64_t>(op.axis));
  set_attribute(proto, "keepdims", std::int64_t{op.keep_dims ? 1 : 0});
  set_attribute(proto, "select_last_index", std::int64_t{op.last ? 1 : 0});
}

void export_operator(Exporter& exporter, const Node& node, const ir::CumSum& op) {
  const std::string& output = exporter.name(node.output);
  const auto axis = static_cast<std::int64_t>(op.axis);
  const std::string axis_name = exporter.add_initializer(
      output + "/axis", encode_tensor(ir::Tensor::from<std::int64_t>({}, std::span(&axis, 1))));
  NodeProto& proto =
      exporter.add_node("CumSum", {exporter.read(node.inputs[0]), axis_name}, output);
  set_attribute(proto, "exclusive", std::int64_t{op.exclusive ? 1 : 0});
  set_attribute(proto, "reverse", std::int64_t{op.reverse ? 1 : 0});
}

void export_operator(Exporter& exporter, const Node& node, const ir::TopK& op) {
  const std::string& output = exporter.name(node.output);
  const std::string k = exporter.add_integers(output + "/k", {static_cast<std::int64_t>(op.k)});
  NodeProto& proto = exporter.add_node("TopK", {exporter.read(node.inputs[0]), k},
                                       exporter.fresh(output + "/values"));
  proto.add_output(output);
  set_attribute(proto, "axis", static_cast<std::int64_t>(op.axis));
  set_attribute(proto, "largest", std::int64_t{op.largest ? 1 : 0});
}

/// A LayerNormalization if over the last axes, otherwise the formula.
void export_operator(Exporter& exporter, const Node& node, const ir::Normalize& op) {
  const std::size_t rank = exporter.type(node.output).shape.rank();
  if (op.subtract_mean && are_last(op.axes, rank)) {
    return export_layer_normalization(exporter, node, op);
  }
  const std::string& output = exporter.name(node.output);
  std::string x = exporter.read(node.inputs[0]);
  const auto next = [&](const char* role, std::string_view op_type,
                        const std::vector<std::string>& inputs) {
    std::string name = exporter.fresh(output + role);
    exporter.add_node(op_type, inputs, name);
    return name;
  };
  const auto mean_of = [&](const char* role, const std::string& input) {
    std::string name = exporter.fresh(output + role);
    add_reduction(exporter, {ir::ReduceKind::kMean, op.axes, true}, input, name);
    return name;
  };
  if (op.subtract_mean) x = next("/centred", "Sub", {x, mean_of("/mean", x)});
  const std::string variance = mean_of("/variance", next("/square", "Mul", {x, x}));
  const std::string epsilon = exporter.add_scalar(output + "/epsilon", op.epsilon);
  const std::string shifted = next("/shifted", "Add", {variance, epsilon});
  exporter.add_node("Div", {x, next("/deviation", "Sqrt", {shifted})}, output);
}

void export_operator(Exporter& exporter, const Node& node, const ir::LocalNormalize& op) {
  const std::size_t size = op.before + op.after + 1;
  if (op.axis != 1 || op.before != (size - 1) / 2) {
    fail(ErrorKind::kUnsupported,
         "expected neighbours along axis 1, split evenly before and after");
  }
  NodeProto& proto =
      exporter.add_node("LRN", {exporter.read(node.inputs[0])}, exporter.name(node.output));
  set_attribute(proto, "size", static_cast<std::int64_t>(size));
  set_attribute(proto, "alpha", op.alpha * static_cast<float>(size));
  set_attribute(proto, "beta", op.beta);
  set_attribute(proto, "bias", op.bias);
}

}  // namespace halftone::formats::onnx
