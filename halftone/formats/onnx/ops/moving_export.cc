// SPDX-License-Identifier: Apache-2.0
// Operators that gather, scatter and repeat elements.
#include <algorithm>
#include <string>

#include "halftone/formats/low_bit_layer.h"
#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/extents.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::Node;
using onnx_pb::NodeProto;

/// Adds a node with the operator's inputs, followed by additional ones.
NodeProto& add_like(Exporter& exporter, const Node& node, std::string_view op_type,
                    const std::vector<std::string>& more = {}) {
  std::vector<std::string> inputs;
  for (const ir::ValueId id : node.inputs) {
    inputs.push_back(id == ir::kAbsent ? "" : exporter.read(id));
  }
  inputs.insert(inputs.end(), more.begin(), more.end());
  return exporter.add_node(op_type, inputs, exporter.name(node.output));
}

void set_axis(NodeProto& proto, std::size_t axis) {
  set_attribute(proto, "axis", static_cast<std::int64_t>(axis));
}

void set_reduction(Exporter& exporter, NodeProto& proto, ir::Scatter reduction) {
  if (reduction == ir::Scatter::kReplace) return;
  const bool compares = reduction == ir::Scatter::kMax || reduction == ir::Scatter::kMin;
  exporter.require_opset(compares ? 18 : 16);
  set_attribute(proto, "reduction", to_string(reduction));
}

/// A vector of numbers, or of extents.
std::string add_numbers(Exporter& exporter, const Node& node, const char* role,
                        const std::vector<std::size_t>& numbers) {
  const std::vector<ir::Dim> dims(numbers.begin(), numbers.end());
  const bool is_open = std::ranges::any_of(dims, ir::is_expression);
  if (is_open) return add_shape(exporter, exporter.name(node.output), ir::Shape(dims));
  return exporter.add_integers(role, {dims.begin(), dims.end()});
}

/// ONNX Runtime has no Where of booleans: (condition and a) or (not condition and b).
void export_where_of_flags(Exporter& exporter, const Node& node) {
  const std::string& output = exporter.name(node.output);
  const std::string condition = exporter.read(node.inputs[0]);
  const auto add = [&](std::string_view op, const std::vector<std::string>& inputs) {
    std::string name = exporter.fresh(output + "/part");
    exporter.add_node(op, inputs, name);
    return name;
  };
  const std::string first = add("And", {condition, exporter.read(node.inputs[1])});
  const std::string otherwise = add("Not", {condition});
  const std::string second = add("And", {otherwise, exporter.read(node.inputs[2])});
  exporter.add_node("Or", {first, second}, output);
}

void export_operator(Exporter& exporter, const Node& node, const ir::Where& /*op*/) {
  if (exporter.type(node.output).is_dense(ir::ElementType::kBool)) {
    return export_where_of_flags(exporter, node);
  }
  add_like(exporter, node, "Where");
}

void export_operator(Exporter& exporter, const Node& node, const ir::Gather& op) {
  if (exporter.codes(node.inputs[0]) != nullptr) {
    const std::string table = exporter.read_numbers(node.inputs[0], {0, 1});
    const std::string indices = exporter.read(node.inputs[1]);
    set_axis(exporter.add_node("Gather", {table, indices}, exporter.name(node.output)), op.axis);
    return;
  }
  if (take_apart(exporter.graph(), node).weights != nullptr) {
    export_in_basis(exporter, node, "Gather", exporter.name(node.output));
    return;
  }
  set_axis(add_like(exporter, node, "Gather"), op.axis);
}

void export_operator(Exporter& exporter, const Node& node, const ir::GatherElements& op) {
  set_axis(add_like(exporter, node, "GatherElements"), op.axis);
}

void export_operator(Exporter& exporter, const Node& node, const ir::GatherND& op) {
  set_attribute(add_like(exporter, node, "GatherND"), "batch_dims",
                static_cast<std::int64_t>(op.batch_dims));
}

void export_operator(Exporter& exporter, const Node& node, const ir::ScatterElements& op) {
  NodeProto& proto = add_like(exporter, node, "ScatterElements");
  set_axis(proto, op.axis);
  set_reduction(exporter, proto, op.reduction);
}

void export_operator(Exporter& exporter, const Node& node, const ir::ScatterND& op) {
  set_reduction(exporter, add_like(exporter, node, "ScatterND"), op.reduction);
}

void export_operator(Exporter& exporter, const Node& node, const ir::OneHot& op) {
  const std::string depth = add_numbers(exporter, node, "depth", {op.depth});
  NodeProto& proto = exporter.add_node(
      "OneHot", {exporter.read(node.inputs[0]), depth, exporter.read(node.inputs[1])},
      exporter.name(node.output));
  set_axis(proto, op.axis);
}

void export_operator(Exporter& exporter, const Node& node, const ir::Pad& op) {
  if (op.mode == ir::PadMode::kWrap) exporter.require_opset(19);
  std::vector<std::size_t> pads = op.before;
  pads.insert(pads.end(), op.after.begin(), op.after.end());
  std::vector<std::string> inputs{exporter.read(node.inputs[0]),
                                  add_numbers(exporter, node, "pads", pads)};
  if (node.inputs.size() > 1 && node.inputs[1] != ir::kAbsent) {
    inputs.push_back(exporter.read(node.inputs[1]));
  }
  NodeProto& proto = exporter.add_node("Pad", inputs, exporter.name(node.output));
  set_attribute(proto, "mode", to_string(op.mode));
}

/// The shape has 1 where the input has the batch.
void export_operator(Exporter& exporter, const Node& node, const ir::BroadcastTo& op) {
  std::vector<std::int64_t> extents;
  for (const ir::Dim dim : op.shape.dims()) extents.push_back(ir::is_open(dim) ? 1 : dim);
  const ir::Shape& x = exporter.type(node.inputs[0]).shape;
  const ir::Shape& y = exporter.type(node.output).shape;
  const std::string& prefix = exporter.name(node.output);
  const std::string shape = ir::broadcast(x, ir::Shape(extents)) == y
                                ? exporter.add_integers("shape", extents)
                                : add_shape(exporter, prefix, y);
  add_like(exporter, node, "Expand", {shape});
}

void export_operator(Exporter& exporter, const Node& node, const ir::Tile& op) {
  add_like(exporter, node, "Tile", {add_numbers(exporter, node, "repeats", op.repeats)});
}

void export_operator(Exporter& exporter, const Node& node, const ir::ReverseSequence& op) {
  NodeProto& proto = add_like(exporter, node, "ReverseSequence");
  set_attribute(proto, "batch_axis", static_cast<std::int64_t>(op.batch_axis));
  set_attribute(proto, "time_axis", static_cast<std::int64_t>(op.time_axis));
}

constexpr WriterEntry kMovingWriters[] = {
    node_writer_entry<Exporter, ir::Where, export_operator>(),
    node_writer_entry<Exporter, ir::Gather, export_operator>(),
    node_writer_entry<Exporter, ir::GatherElements, export_operator>(),
    node_writer_entry<Exporter, ir::GatherND, export_operator>(),
    node_writer_entry<Exporter, ir::ScatterElements, export_operator>(),
    node_writer_entry<Exporter, ir::ScatterND, export_operator>(),
    node_writer_entry<Exporter, ir::OneHot, export_operator>(),
    node_writer_entry<Exporter, ir::Pad, export_operator>(),
    node_writer_entry<Exporter, ir::BroadcastTo, export_operator>(),
    node_writer_entry<Exporter, ir::Tile, export_operator>(),
    node_writer_entry<Exporter, ir::ReverseSequence, export_operator>(),
};

}  // namespace

std::span<const WriterEntry> moving_writers() { return kMovingWriters; }

}  // namespace halftone::formats::onnx
