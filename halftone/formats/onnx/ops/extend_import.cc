// SPDX-License-Identifier: Apache-2.0
// Padding, repeating and reversing.
#include <algorithm>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
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

/// Pads for every axis: all before, then all after.
Numbers pads_of(NodeBuilder& node, std::size_t rank) {
  const auto stated = numbers_of(node, node.opset() < 2 ? "paddings" : "pads", 1, 11);
  if (!stated) fail(ErrorKind::kFormat, "expected pads, found none");
  std::vector<std::size_t> axes = all_axes(rank);
  if (node.has_input(3)) {
    axes.clear();
    for (const std::int64_t axis : node.numbers_input(3)) {
      axes.push_back(ir::normalized_axis(axis, rank));
    }
  }
  if (stated->size() != 2 * axes.size()) {
    fail(ErrorKind::kShape, "pads: expected " + std::to_string(2 * axes.size()) +
                                " numbers, found " + std::to_string(stated->size()));
  }
  Numbers pads(2 * rank, 0);
  for (std::size_t i = 0; i < axes.size(); ++i) {
    pads[axes[i]] = (*stated)[i];
    pads[rank + axes[i]] = (*stated)[axes.size() + i];
  }
  return pads;
}

/// Crops the elements that negative pads remove from an axis.
ValueId cropped(NodeBuilder& node, ValueId x, std::size_t axis, std::int64_t before,
                std::int64_t after) {
  if (before >= 0 && after >= 0) return x;
  const ir::Dim extent = node.type(x).shape[axis];
  if (ir::is_batch(extent)) NodeBuilder::unsupported("cannot select a part of the batch");
  const std::int64_t front = -std::clamp<std::int64_t>(before, -extent, 0);
  const std::int64_t back = -std::clamp<std::int64_t>(after, -extent, 0);
  const std::int64_t count = extent - front - back;
  if (count <= 0) fail(ErrorKind::kShape, "pads remove all of axis " + std::to_string(axis));
  return node.emit(
      ir::Slice{axis, static_cast<std::size_t>(front), 1, static_cast<std::size_t>(count)}, {x});
}

ValueId pad_value(NodeBuilder& node, ir::ElementType element) {
  if (node.opset() < 11) {
    return node.add_scalar(static_cast<double>(node.float_attribute("value", 0)), element);
  }
  return node.has_input(2) ? node.reshape(node.input(2), {}) : ir::kAbsent;
}

void build_pad(NodeBuilder& node) {
  ValueId x = node.input(0);
  const std::size_t rank = node.type(x).shape.rank();
  const Numbers pads = pads_of(node, rank);
  ir::Pad op{pad_mode(node), {}, {}};
  bool pads_nothing = true;
  for (std::size_t i = 0; i < rank; ++i) {
    x = cropped(node, x, i, pads[i], pads[rank + i]);
    op.before.push_back(static_cast<std::size_t>(std::max<std::int64_t>(pads[i], 0)));
    op.after.push_back(static_cast<std::size_t>(std::max<std::int64_t>(pads[rank + i], 0)));
    pads_nothing = pads_nothing && op.before[i] == 0 && op.after[i] == 0;
  }
  std::vector<ValueId> inputs{x};
  if (op.mode == ir::PadMode::kConstant) {
    const ValueId value = pad_value(node, node.type(x).encoding.element);
    if (value != ir::kAbsent) inputs.push_back(value);
  }
  node.set_output(0, pads_nothing ? x : node.emit(std::move(op), std::move(inputs)));
}

/// Crops or pads the named axes to an extent, the same at both ends; the odd element goes behind.
void build_center_crop_pad(NodeBuilder& node) {
  ValueId x = node.input(0);
  const std::size_t rank = node.type(x).shape.rank();
  const Numbers shape = node.numbers_input(1);
  const auto stated = node.ints_attribute("axes");
  std::vector<std::size_t> axes = all_axes(rank);
  if (stated) {
    axes.clear();
    for (const std::int64_t axis : *stated) axes.push_back(ir::normalized_axis(axis, rank));
  }
  if (shape.size() != axes.size()) {
    fail(ErrorKind::kShape, "shape: expected " + std::to_string(axes.size()) + " extents, found " +
                                std::to_string(shape.size()));
  }
  ir::Pad pad{ir::PadMode::kConstant, std::vector<std::size_t>(rank, 0), {}};
  pad.after = pad.before;
  bool pads_nothing = true;
  for (std::size_t i = 0; i < axes.size(); ++i) {
    const ir::Dim extent = node.type(x).shape[axes[i]];
    if (ir::is_batch(extent)) NodeBuilder::unsupported("cannot crop or pad the batch");
    const std::int64_t missing = shape[i] - extent;
    const std::int64_t front = std::abs(missing) / 2;
    x = cropped(node, x, axes[i], std::min<std::int64_t>(0, missing < 0 ? -front : 0),
                std::min<std::int64_t>(0, missing + front));
    if (missing <= 0) continue;
    pads_nothing = false;
    pad.before[axes[i]] = static_cast<std::size_t>(front);
    pad.after[axes[i]] = static_cast<std::size_t>(missing - front);
  }
  node.set_output(0, pads_nothing ? x : node.emit(std::move(pad), {x}));
}

void build_tile(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const std::size_t rank = node.type(x).shape.rank();
  Numbers repeats = node.numbers_input(1);
  if (node.opset() < 6) {
    const Numbers axis = node.numbers_input(2);
    if (repeats.size() != 1 || axis.size() != 1) {
      fail(ErrorKind::kShape, "expected one number of tiles and one axis");
    }
    Numbers all(rank, 1);
    all[ir::normalized_axis(axis[0], rank)] = repeats[0];
    repeats = std::move(all);
  }
  ir::Tile op;
  for (const std::int64_t repeat : repeats) {
    if (repeat < 0) {
      fail(ErrorKind::kShape,
           "repeats: expected numbers of at least 0, found " + std::to_string(repeat));
    }
    op.repeats.push_back(static_cast<std::size_t>(repeat));
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

/// Keeps the elements above or below a diagonal, with a constant mask.
void build_trilu(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::ValueType type = node.type(x);
  const std::size_t rank = type.shape.rank();
  if (rank < 2) fail(ErrorKind::kShape, "expected a matrix, found " + type.to_string());
  const ir::Shape matrix{type.shape[rank - 2], type.shape[rank - 1]};
  if (!matrix.is_static()) NodeBuilder::unsupported("expected matrices without the batch axis");
  std::int64_t k = 0;
  if (node.has_input(1)) {
    const Numbers numbers = node.numbers_input(1);
    if (numbers.size() != 1) fail(ErrorKind::kShape, "k: expected one number");
    k = std::clamp<std::int64_t>(numbers[0], -matrix[0], matrix[1]);
  }
  const bool upper = node.int_attribute("upper", 1) != 0;
  ir::Tensor mask = node.allocate(ir::ElementType::kBool, matrix);
  const auto keeps = mask.as<std::uint8_t>();
  for (ir::Dim i = 0; i < matrix[0]; ++i) {
    for (ir::Dim j = 0; j < matrix[1]; ++j) {
      keeps[static_cast<std::size_t>(i * matrix[1] + j)] =
          (upper ? j - i >= k : j - i <= k) ? 1 : 0;
    }
  }
  const ValueId zero = node.add_scalar(0.0, type.encoding.element);
  node.set_output(0, emit_where(node, node.add_constant(std::move(mask)), x, zero));
}

constexpr ReaderEntry kExtendReaders[] = {
    {"", "Pad", build_pad},       {"", "Tile", build_tile},
    {"", "Expand", build_expand}, {"", "ReverseSequence", build_reverse_sequence},
    {"", "Trilu", build_trilu},   {"", "CenterCropPad", build_center_crop_pad},
};

}  // namespace

std::span<const ReaderEntry> extend_readers() { return kExtendReaders; }

}  // namespace halftone::formats::onnx
