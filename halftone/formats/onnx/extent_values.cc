// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/onnx/extent_values.h"

#include <algorithm>

#include "halftone/formats/onnx/emit.h"

namespace halftone::formats::onnx {
namespace {

using ir::BinaryKind;
using ir::ElementType;
using ir::ValueId;

/// Whether a value is never below 0: a maximum with a constant that is not.
bool is_never_negative(const NodeBuilder& node, const ir::Graph& graph, ValueId id) {
  const auto producer = graph.producer(id);
  if (!producer) return false;
  const ir::Node& last = graph.node(*producer);
  const auto* binary = std::get_if<ir::Binary>(&last.op);
  if (binary == nullptr || binary->kind != BinaryKind::kMax) return false;
  return std::ranges::any_of(last.inputs, [&](ValueId input) {
    const ir::Tensor* tensor = node.constant(input);
    return tensor != nullptr && tensor->element() == ElementType::kInt64 && tensor->size() == 1 &&
           tensor->as<std::int64_t>()[0] >= 0;
  });
}

/// The value of a symbol that may be negative; nothing for other extents.
std::optional<ValueId> signed_value(NodeBuilder& node, const Extent& integer) {
  const auto symbol = integer.name();
  if (!symbol || !ir::is_computed(*symbol)) return std::nullopt;
  const ValueId value = extent_value(node, integer, "number");
  if (is_never_negative(node, node.state().graph, value)) return std::nullopt;
  return value;
}

}  // namespace

ValueId extent_value(NodeBuilder& node, const Extent& extent, const std::string& role) {
  const Integers one{true, ElementType::kInt64, {extent}};
  return node.state().add_integers(node.output_name() + "/" + role, one);
}

ValueId extent_real(NodeBuilder& node, const Extent& extent, const std::string& role) {
  return emit_cast(node, ir::ElementType::kFloat32, extent_value(node, extent, role));
}

ir::Dim open_product(std::span<const ir::Dim> extents) {
  Extent product(1);
  for (const ir::Dim extent : extents) product = product * ir::extent_of(extent);
  return checked_dim(product);
}

Extent positive_part(NodeBuilder& node, const Extent& integer) {
  const auto value = signed_value(node, integer);
  if (!value) return Extent::greatest(0, integer);
  const ValueId zero = node.add_scalar(0.0, ElementType::kInt64);
  return node.computed_extent(emit_binary(node, BinaryKind::kMax, *value, zero));
}

Extent negative_part(NodeBuilder& node, const Extent& integer) {
  const auto value = signed_value(node, integer);
  if (!value) return Extent::greatest(0, Extent(0) - integer);
  const ValueId zero = node.add_scalar(0.0, ElementType::kInt64);
  const ValueId negative = emit_binary(node, BinaryKind::kSub, zero, *value);
  return node.computed_extent(emit_binary(node, BinaryKind::kMax, negative, zero));
}

Extent count_of_steps(NodeBuilder& node, ValueId length, ValueId step) {
  const auto whole = [&](double number) { return node.add_scalar(number, ElementType::kInt64); };
  const ValueId backward = emit_binary(node, BinaryKind::kLess, step, whole(0));
  const ValueId more = emit_where(node, backward, whole(1), whole(-1));
  const ValueId reached =
      emit_binary(node, BinaryKind::kAdd, emit_binary(node, BinaryKind::kAdd, length, step), more);
  const ValueId steps = emit_binary(node, BinaryKind::kDiv, reached, step);
  const ValueId stays = emit_binary(node, BinaryKind::kEqual, step, whole(0));
  return node.computed_extent(
      emit_where(node, stays, whole(-1), emit_binary(node, BinaryKind::kMax, steps, whole(0))));
}

ValueId counting(NodeBuilder& node, const Extent& count, ir::ElementType element) {
  const ValueId ones =
      node.emit(ir::BroadcastTo{{checked_dim(count)}}, {node.add_scalar(1.0, element)});
  return node.emit(ir::CumSum{0, true, false}, {ones});
}

ValueId counting_along(NodeBuilder& node, std::size_t axis, std::size_t rank, const Extent& count,
                       ir::ElementType element) {
  std::vector<ir::Dim> dims(rank, 1);
  dims[axis] = checked_dim(count);
  return node.reshape(counting(node, count, element), ir::Shape(std::move(dims)));
}

ValueId diagonal_mask(NodeBuilder& node, const ir::Shape& matrix, BinaryKind compare, ValueId k) {
  const ValueId cols = counting(node, ir::extent_of(matrix[1]), ElementType::kInt64);
  const ValueId rows = counting(node, ir::extent_of(matrix[0]), ElementType::kInt64);
  const ValueId column = node.reshape(rows, {matrix[0], 1});
  return emit_binary(node, compare, emit_binary(node, BinaryKind::kSub, cols, column), k);
}

}  // namespace halftone::formats::onnx
