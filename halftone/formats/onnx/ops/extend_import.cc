// SPDX-License-Identifier: Apache-2.0
// Padding, repeating and reversing.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/extent_values.h"
#include "halftone/formats/onnx/registry.h"

namespace halftone::formats::onnx {
namespace {

using ir::ValueId;
using Numbers = std::vector<std::int64_t>;

ir::PadMode pad_mode(const NodeBuilder& node) {
  const std::string name = node.string_attribute("mode", "constant");
  for (const ir::PadMode mode :
       {ir::PadMode::kConstant, ir::PadMode::kReflect, ir::PadMode::kEdge, ir::PadMode::kWrap}) {
    if (to_string(mode) == name) return mode;
  }
  fail(ErrorKind::kFormat, "mode: expected constant, reflect, edge or wrap, found '" + name + "'");
}

/// Pads by axis; negative ones remove elements.
struct Pads {
  std::vector<Extent> before;
  std::vector<Extent> after;
};

/// Those that an attribute or input 1 states: all before, then all after.
std::vector<Extent> stated_pads(NodeBuilder& node) {
  if (node.opset() >= 11) {
    if (const auto known = node.extents(1)) return known->values;
  }
  const auto stated = numbers_of(node, node.opset() < 2 ? "paddings" : "pads", 1, 11);
  if (!stated) fail(ErrorKind::kFormat, "expected pads, found none");
  return {stated->begin(), stated->end()};
}

Pads pads_of(NodeBuilder& node, std::size_t rank) {
  const std::vector<Extent> stated = stated_pads(node);
  std::vector<std::size_t> axes = all_axes(rank);
  if (node.has_input(3)) {
    axes.clear();
    for (const std::int64_t axis : node.numbers_input(3)) {
      axes.push_back(ir::normalized_axis(axis, rank));
    }
  }
  if (stated.size() != 2 * axes.size()) {
    fail(ErrorKind::kShape, "pads: expected " + std::to_string(2 * axes.size()) +
                                " numbers, found " + std::to_string(stated.size()));
  }
  Pads pads{std::vector<Extent>(rank, 0), std::vector<Extent>(rank, 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    pads.before[axes[i]] = stated[i];
    pads.after[axes[i]] = stated[axes.size() + i];
  }
  return pads;
}

/// Removes elements at both ends of an axis, at most all.
/// @param front  how many, at least 0, as `back`
ValueId cropped(NodeBuilder& node, ValueId x, std::size_t axis, const Extent& front,
                const Extent& back) {
  if (front == Extent(0) && back == Extent(0)) return x;
  const ir::Dim dim = node.type(x).shape[axis];
  if (ir::depends_on_batch(dim)) NodeBuilder::unsupported("cannot select a part of the batch");
  const Extent extent = ir::extent_of(dim);
  const Extent begin = Extent::least(front, extent);
  const Extent count = Extent::greatest(0, extent - begin - back);
  if (count == Extent(0))
    fail(ErrorKind::kShape, "pads remove all of axis " + std::to_string(axis));
  return node.emit(ir::Slice{axis, static_cast<std::size_t>(checked_dim(begin)), 1,
                             static_cast<std::size_t>(checked_dim(count))},
                   {x});
}

ValueId pad_value(NodeBuilder& node, ir::ElementType element) {
  if (node.opset() < 11) {
    return node.add_scalar(static_cast<double>(node.float_attribute("value", 0)), element);
  }
  return node.has_input(2) ? node.reshape(node.input(2), {}) : ir::kAbsent;
}

/// A value with its ends removed or padded.
/// @param value  around it, a scalar; kAbsent: 0
ValueId padded(NodeBuilder& node, ValueId x, const Pads& pads, ir::PadMode mode, ValueId value) {
  ir::Pad op{mode, {}, {}};
  bool pads_nothing = true;
  const std::size_t rank = node.type(x).shape.rank();
  for (std::size_t i = 0; i < rank; ++i) {
    x = cropped(node, x, i, negative_part(node, pads.before[i]),
                negative_part(node, pads.after[i]));
    for (const auto& [pad, stated] :
         {std::pair(&op.before, &pads.before[i]), std::pair(&op.after, &pads.after[i])}) {
      pad->push_back(static_cast<std::size_t>(checked_dim(positive_part(node, *stated))));
      pads_nothing = pads_nothing && pad->back() == 0;
    }
  }
  if (pads_nothing) return x;
  std::vector<ValueId> inputs{x};
  if (value != ir::kAbsent) inputs.push_back(value);
  return node.emit(std::move(op), std::move(inputs));
}

void build_pad(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::ValueType type = node.type(x);
  const ir::PadMode mode = pad_mode(node);
  const ValueId value =
      mode == ir::PadMode::kConstant ? pad_value(node, type.encoding.element) : ir::kAbsent;
  node.set_output(0, padded(node, x, pads_of(node, type.shape.rank()), mode, value));
}

/// Crops or pads the named axes to an extent, the same at both ends; the odd element goes behind.
void build_center_crop_pad(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  const std::size_t rank = shape.rank();
  const auto wanted = node.extents(1);
  if (!wanted) NodeBuilder::unsupported("input 1: expected a vector of integers");
  const auto stated = node.ints_attribute("axes");
  std::vector<std::size_t> axes = all_axes(rank);
  if (stated) {
    axes.clear();
    for (const std::int64_t axis : *stated) axes.push_back(ir::normalized_axis(axis, rank));
  }
  if (wanted->values.size() != axes.size()) {
    fail(ErrorKind::kShape, "shape: expected " + std::to_string(axes.size()) + " extents, found " +
                                std::to_string(wanted->values.size()));
  }
  Pads pads{std::vector<Extent>(rank, 0), std::vector<Extent>(rank, 0)};
  for (std::size_t i = 0; i < axes.size(); ++i) {
    if (ir::depends_on_batch(shape[axes[i]]))
      NodeBuilder::unsupported("cannot crop or pad the batch");
    const Extent missing = wanted->values[i] - ir::extent_of(shape[axes[i]]);
    const Extent added = Extent::greatest(0, missing);
    const Extent removed = Extent::greatest(0, Extent(0) - missing);
    pads.before[axes[i]] = added.over(2) - removed.over(2);
    pads.after[axes[i]] = missing - pads.before[axes[i]];
  }
  node.set_output(0, padded(node, x, pads, ir::PadMode::kConstant, ir::kAbsent));
}

/// The number of tiles by axis.
std::vector<Extent> repeats_of(NodeBuilder& node, std::size_t rank) {
  const auto repeats = node.extents(1);
  if (!repeats) NodeBuilder::unsupported("input 1: expected a vector of integers");
  if (node.opset() >= 6) return repeats->values;
  const Numbers axis = node.numbers_input(2);
  if (repeats->values.size() != 1 || axis.size() != 1) {
    fail(ErrorKind::kShape, "expected one number of tiles and one axis");
  }
  std::vector<Extent> all(rank, 1);
  all[ir::normalized_axis(axis[0], rank)] = repeats->values[0];
  return all;
}

void build_tile(NodeBuilder& node) {
  const ValueId x = node.input(0);
  ir::Tile op;
  for (const Extent& repeat : repeats_of(node, node.type(x).shape.rank())) {
    if (repeat.is_number() && *repeat.number() < 0) {
      fail(ErrorKind::kShape, "repeats: expected numbers of at least 0, found " + repeat.text());
    }
    op.repeats.push_back(static_cast<std::size_t>(checked_dim(repeat)));
  }
  node.set_output(0, node.emit(std::move(op), {x}));
}

void build_expand(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const auto request = node.extents(1);
  if (!request) NodeBuilder::unsupported("input 1: expected integers known during the import");
  std::vector<ir::Dim> dims;
  for (const Extent& extent : request->values) dims.push_back(checked_dim(extent));
  ir::Shape target(std::move(dims));
  const bool same = ir::broadcast(node.type(x).shape, target) == node.type(x).shape;
  node.set_output(0, same ? x : node.emit(ir::BroadcastTo{std::move(target)}, {x}));
}

void build_reverse_sequence(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const std::size_t rank = node.type(x).shape.rank();
  const ir::ReverseSequence op{ir::normalized_axis(node.int_attribute("batch_axis", 1), rank),
                               ir::normalized_axis(node.int_attribute("time_axis", 0), rank)};
  node.set_output(0, node.emit(op, {x, node.input(1)}));
}

/// The mask of a Trilu as a constant.
ValueId constant_mask(NodeBuilder& node, const ir::Shape& matrix, std::int64_t k, bool upper) {
  k = std::clamp<std::int64_t>(k, -matrix[0], matrix[1]);
  ir::Tensor mask = node.allocate(ir::ElementType::kBool, matrix);
  const auto keeps = mask.as<std::uint8_t>();
  for (ir::Dim i = 0; i < matrix[0]; ++i) {
    for (ir::Dim j = 0; j < matrix[1]; ++j) {
      keeps[static_cast<std::size_t>(i * matrix[1] + j)] =
          (upper ? j - i >= k : j - i <= k) ? 1 : 0;
    }
  }
  return node.add_constant(std::move(mask));
}

/// Keeps the elements above or below a diagonal, with a mask.
void build_trilu(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::ValueType type = node.type(x);
  const std::size_t rank = type.shape.rank();
  if (rank < 2) fail(ErrorKind::kShape, "expected a matrix, found " + type.to_string());
  const ir::Shape matrix{type.shape[rank - 2], type.shape[rank - 1]};
  if (std::ranges::any_of(matrix.dims(), ir::depends_on_batch)) {
    NodeBuilder::unsupported("expected matrices without the batch axis");
  }
  const auto known = node.has_input(1)
                         ? node.integers(1)
                         : std::optional(Integers{true, ir::ElementType::kInt64, {0}});
  const auto numbers = known ? known->numbers() : std::nullopt;
  if (numbers && numbers->size() != 1) fail(ErrorKind::kShape, "k: expected one number");
  const bool upper = node.int_attribute("upper", 1) != 0;
  const auto compare = upper ? ir::BinaryKind::kGreaterOrEqual : ir::BinaryKind::kLessOrEqual;
  const ValueId mask =
      matrix.is_static() && numbers
          ? constant_mask(node, matrix, (*numbers)[0], upper)
          : diagonal_mask(node, matrix, compare,
                          numbers ? node.add_scalar(static_cast<double>((*numbers)[0]),
                                                    ir::ElementType::kInt64)
                                  : node.reshape(node.input(1), {}));
  const ValueId zero = node.add_scalar(0.0, type.encoding.element);
  node.set_output(0, emit_where(node, mask, x, zero));
}

constexpr ReaderEntry kExtendReaders[] = {
    {"", "Pad", build_pad},       {"", "Tile", build_tile},
    {"", "Expand", build_expand}, {"", "ReverseSequence", build_reverse_sequence},
    {"", "Trilu", build_trilu},   {"", "CenterCropPad", build_center_crop_pad},
};

}  // namespace

std::span<const ReaderEntry> extend_readers() { return kExtendReaders; }

}  // namespace halftone::formats::onnx
