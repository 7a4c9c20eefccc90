// SPDX-License-Identifier: Apache-2.0
// Operators that find elements, and pool regions. ONNX's give as many entries as they find, ours
// an upper bound of them. What reads these counts entries that are not below zero, and takes that
// many: the same from ONNX's.
#include <algorithm>
#include <cmath>
#include <string>

#include "halftone/formats/onnx/exporter.h"
#include "halftone/formats/onnx/extents.h"
#include "halftone/formats/onnx/tensors.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::onnx {
namespace {

using ir::Node;
using onnx_pb::NodeProto;

bool compares(const ir::Operator& op) {
  const auto* binary = std::get_if<ir::Binary>(&op);
  return binary != nullptr && binary->kind == ir::BinaryKind::kGreaterOrEqual;
}

/// Whether all readers of entries count them or take as many as there are.
bool is_taken_as_found(const ir::Graph& graph, ir::ValueId entries) {
  if (std::ranges::count(graph.outputs(), entries) > 0) return false;
  return std::ranges::all_of(graph.consumers(entries), [&](ir::NodeId id) {
    const Node& reader = graph.node(id);
    const auto* slice = std::get_if<ir::Slice>(&reader.op);
    if (slice == nullptr) return compares(reader.op);
    return ir::is_expression(static_cast<ir::Dim>(slice->count)) ||
           is_taken_as_found(graph, reader.output);
  });
}

/// @throws Error kUnsupported if readers see entries past the last
void check_readers(const Exporter& exporter, const Node& node) {
  if (is_taken_as_found(exporter.graph(), node.output)) return;
  unsupported("a list with entries past the last");
}

void export_operator(Exporter& exporter, const Node& node, const ir::NonZero& /*op*/) {
  check_readers(exporter, node);
  exporter.add_node("NonZero", {exporter.read(node.inputs[0])}, exporter.name(node.output));
}

void export_operator(Exporter& exporter, const Node& node, const ir::NonMaxSuppression& op) {
  check_readers(exporter, node);
  const auto most = static_cast<std::int64_t>(op.max_per_class);
  const auto is_computed = [&](std::size_t i) {
    return i < node.inputs.size() && node.inputs[i] != ir::kAbsent;
  };
  std::vector<std::string> inputs = {exporter.read(node.inputs[0]), exporter.read(node.inputs[1])};
  inputs.push_back(is_computed(2) ? exporter.read(node.inputs[2])
                                  : exporter.add_integers("most", {most}));
  inputs.push_back(is_computed(3) ? exporter.read(node.inputs[3])
                                  : exporter.add_scalar("iou_threshold", op.iou_threshold));
  if (is_computed(4)) {
    inputs.push_back(exporter.read(node.inputs[4]));
  } else if (std::isfinite(op.score_threshold)) {
    inputs.push_back(exporter.add_scalar("score_threshold", op.score_threshold));
  }
  NodeProto& proto = exporter.add_node("NonMaxSuppression", inputs, exporter.name(node.output));
  if (op.centers) set_attribute(proto, "center_point_box", std::int64_t{1});
}

void export_operator(Exporter& exporter, const Node& node, const ir::Unique& op) {
  if (op.result == ir::UniqueResult::kFirst) check_readers(exporter, node);
  const std::string& output = exporter.name(node.output);
  NodeProto& proto = exporter.add_node("Unique", {exporter.read(node.inputs[0])},
                                       exporter.fresh(output + "/values"));
  const bool is_first = op.result == ir::UniqueResult::kFirst;
  proto.add_output(is_first ? output : "");
  if (!is_first) proto.add_output(output);
  set_attribute(proto, "axis", static_cast<std::int64_t>(op.axis));
  set_attribute(proto, "sorted", std::int64_t{op.sorted ? 1 : 0});
}

void export_operator(Exporter& exporter, const Node& node, const ir::RoiAlign& op) {
  const std::string x = exporter.read_image(node.inputs[0]);
  exporter.require_opset(16);
  NodeProto& proto = exporter.add_node(
      "RoiAlign", {x, exporter.read(node.inputs[1]), exporter.read(node.inputs[2])},
      exporter.add_image(node.output));
  set_attribute(proto, "output_height", op.height);
  set_attribute(proto, "output_width", op.width);
  set_attribute(proto, "sampling_ratio", op.samples);
  set_attribute(proto, "spatial_scale", op.scale);
  set_attribute(proto, "mode", op.largest ? "max" : "avg");
  set_attribute(proto, "coordinate_transformation_mode",
                op.half_pixel ? "half_pixel" : "output_half_pixel");
}

void export_operator(Exporter& exporter, const Node& node, const ir::MaxRoiPool& op) {
  const std::string& output = exporter.name(node.output);
  const std::string images = exporter.fresh(output + "/images");
  set_attribute(exporter.add_node("Cast", {exporter.read(node.inputs[2])}, images), "to",
                std::int64_t{onnx_pb::TensorProto::FLOAT});
  const std::string column = exporter.fresh(output + "/column");
  exporter.add_node("Unsqueeze", {images, exporter.add_integers("axes", {1})}, column);
  const std::string regions = exporter.fresh(output + "/regions");
  set_attribute(exporter.add_node("Concat", {column, exporter.read(node.inputs[1])}, regions),
                "axis", std::int64_t{1});
  const std::string x = exporter.read_image(node.inputs[0]);
  NodeProto& proto = exporter.add_node("MaxRoiPool", {x, regions}, exporter.add_image(node.output));
  set_attribute(proto, "pooled_shape", std::vector<std::int64_t>{op.height, op.width});
  set_attribute(proto, "spatial_scale", op.scale);
}

void export_operator(Exporter& exporter, const Node& node, const ir::MaxPoolIndex& op) {
  const ir::Shape& x = exporter.graph().value(node.inputs[0]).type.shape;
  const auto extents = ir::spatial_extents(x);
  if (ir::depends_on_batch(x[0])) unsupported("indices of maxima in " + x.to_string());
  if (std::ranges::any_of(op.window.pads_before, ir::is_expression)) {
    unsupported("indices of maxima with padding that follows open extents");
  }
  const std::string image = exporter.read_image(node.inputs[0]);
  const std::string all = exporter.fresh(exporter.name(node.output) + "/indices");
  NodeProto& proto =
      exporter.add_node("MaxPool", {image}, exporter.fresh(exporter.name(node.output) + "/max"));
  proto.add_output(all);
  set_attribute(proto, "kernel_shape", op.kernel);
  set_attribute(proto, "strides", op.window.strides);
  set_attribute(proto, "dilations", op.window.dilations);
  std::vector<std::int64_t> pads = op.window.pads_before;
  pads.insert(pads.end(), op.window.pads_after.begin(), op.window.pads_after.end());
  set_attribute(proto, "pads", pads);
  if (op.round_up) set_attribute(proto, "ceil_mode", std::int64_t{1});
  ir::Extent elements(1);
  for (const ir::Dim extent : extents) elements = elements * ir::extent_of(extent);
  exporter.add_node("Mod", {all, add_extent(exporter, elements)}, exporter.add_image(node.output));
}

void export_operator(Exporter& exporter, const Node& node, const ir::Determinant& /*op*/) {
  exporter.add_node("Det", {exporter.read(node.inputs[0])}, exporter.name(node.output));
}

constexpr WriterEntry kSelectionWriters[] = {
    node_writer_entry<Exporter, ir::NonZero, export_operator>(),
    node_writer_entry<Exporter, ir::NonMaxSuppression, export_operator>(),
    node_writer_entry<Exporter, ir::Unique, export_operator>(),
    node_writer_entry<Exporter, ir::RoiAlign, export_operator>(),
    node_writer_entry<Exporter, ir::MaxRoiPool, export_operator>(),
    node_writer_entry<Exporter, ir::MaxPoolIndex, export_operator>(),
    node_writer_entry<Exporter, ir::Determinant, export_operator>(),
};

}  // namespace

std::span<const WriterEntry> selection_writers() { return kSelectionWriters; }

}  // namespace halftone::formats::onnx
