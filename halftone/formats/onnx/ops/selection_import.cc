// SPDX-License-Identifier: Apache-2.0
// Operators whose number of results depends on the elements of their input. The graph's operators
// have an upper bound of entries, of which those past the last are -1; their count becomes an
// extent, and a slice takes that many.
#include <algorithm>
#include <limits>
#include <string>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/tensors.h"

namespace halftone::formats::onnx {
namespace {

using ir::BinaryKind;
using ir::ElementType;
using ir::ValueId;

ValueId whole_zero(NodeBuilder& node) { return node.add_scalar(0.0, ElementType::kInt64); }

/// How many entries of a list are not below zero: int64 [bound], [bound, 1] or [1, bound]. Files
/// have lists without the entries past the last, so no operator here may name the bound.
Extent count_of(NodeBuilder& node, ValueId list) {
  const ValueId found =
      node.emit(ir::Binary{BinaryKind::kGreaterOrEqual, {}}, {list, whole_zero(node)}, "found");
  const ValueId ones = node.emit(ir::Cast{ElementType::kInt64}, {found}, "ones");
  const std::vector<std::size_t> axes = all_axes(node.type(ones).shape.rank());
  return node.computed_extent(
      node.emit(ir::Reduce{ir::ReduceKind::kSum, axes, false}, {ones}, "count"));
}

/// The first elements along an axis.
ValueId first_of(NodeBuilder& node, ValueId x, std::size_t axis, const Extent& count) {
  const ir::Dim extent = ir::dim_of(count);
  if (node.type(x).shape[axis] == extent) return x;
  return node.emit(ir::Slice{axis, 0, 1, static_cast<std::size_t>(extent)}, {x});
}

/// The first row or column of a matrix, as a matrix.
ValueId line_of(NodeBuilder& node, ValueId x, std::size_t axis) {
  return node.emit(ir::Slice{axis, 0, 1, 1}, {x}, "line");
}

/// The input of an operator that works along an axis if it has the attribute, else on all elements.
struct AlongAxis {
  ValueId x;
  std::size_t axis = 0;
};
AlongAxis along_axis(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape& shape = node.type(x).shape;
  if (node.has_attribute("axis")) {
    return {x, ir::normalized_axis(node.int_attribute("axis", 0), shape.rank())};
  }
  return {node.reshape(x, {product_of(shape.dims())})};
}

void build_unique(NodeBuilder& node) {
  const auto [x, axis] = along_axis(node);
  const bool sorted = node.int_attribute("sorted", 1) != 0;
  const ValueId list = node.emit(ir::Unique{axis, sorted, ir::UniqueResult::kFirst}, {x}, "first");
  const Extent count = count_of(node, list);
  const ValueId first = first_of(node, list, 0, count);
  node.set_output(0, node.emit(ir::Gather{axis}, {x, first}));
  node.set_output(1, first);
  if (!node.has_output(2) && !node.has_output(3)) return;
  const ValueId inverse =
      node.emit(ir::Unique{axis, sorted, ir::UniqueResult::kInverse}, {x}, "inverse");
  node.set_output(2, inverse);
  if (!node.has_output(3)) return;
  const ValueId zeros = node.emit(ir::BroadcastTo{{ir::dim_of(count)}}, {whole_zero(node)});
  const ValueId one = node.add_scalar(1.0, ElementType::kInt64);
  const ValueId ones = node.emit(ir::BroadcastTo{node.type(inverse).shape}, {one});
  const ir::ScatterElements add{0, ir::Scatter::kAdd};
  node.set_output(3, node.emit(add, {zeros, inverse, ones}));
}

/// The indices [rank, count] of the elements that are not zero.
void build_non_zero(NodeBuilder& node) {
  const ValueId x = node.input(0);
  if (node.type(x).shape.rank() == 0) NodeBuilder::unsupported("a scalar");
  const ValueId all = node.emit(ir::NonZero{}, {x}, "all");
  node.set_output(0, first_of(node, all, 1, count_of(node, line_of(node, all, 0))));
}

/// The elements along an axis where a condition holds; others are left out.
void build_compress(NodeBuilder& node) {
  const auto [x, axis] = along_axis(node);
  if (node.input_type(1).shape.rank() != 1) {
    fail(ErrorKind::kShape,
         "condition: expected a vector, found " + node.input_type(1).to_string());
  }
  const ValueId all = node.emit(ir::NonZero{}, {node.input(1)}, "all");
  const ValueId indices = squeezed(node, first_of(node, all, 1, count_of(node, all)), 0);
  node.set_output(0, node.emit(ir::Gather{axis}, {x, indices}));
}

/// The selected boxes [count, 3]: image, class and index of each.
void build_non_max_suppression(NodeBuilder& node) {
  ir::NonMaxSuppression op;
  std::vector<ValueId> inputs{node.input(0), node.input(1)};
  for (std::size_t i = 2; i < 5; ++i) {
    inputs.push_back(node.has_input(i) ? node.input(i) : ir::kAbsent);
    if (node.has_input(i) && node.constant(inputs[i]) != nullptr) inputs[i] = ir::kAbsent;
  }
  const auto known = [&](std::size_t i) { return node.has_input(i) && inputs[i] == ir::kAbsent; };
  if (known(2)) {
    const std::int64_t most = number_input(node, 2);
    op.max_per_class = static_cast<std::size_t>(std::max<std::int64_t>(most, 0));
  }
  if (known(3)) op.iou_threshold = node.scalar_input(3);
  if (known(4)) op.score_threshold = node.scalar_input(4);
  op.centers = node.int_attribute("center_point_box", 0) != 0;
  while (inputs.back() == ir::kAbsent) inputs.pop_back();
  const ValueId all = node.emit(op, std::move(inputs), "all");
  node.set_output(0, first_of(node, all, 0, count_of(node, line_of(node, all, 1))));
}

constexpr ReaderEntry kSelectionReaders[] = {
    {"", "Unique", build_unique},
    {"", "NonZero", build_non_zero},
    {"", "Compress", build_compress},
    {"", "NonMaxSuppression", build_non_max_suppression},
};

}  // namespace

std::span<const ReaderEntry> selection_readers() { return kSelectionReaders; }

}  // namespace halftone::formats::onnx
