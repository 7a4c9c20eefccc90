// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <optional>
#include <string>

#include "halftone/base/error.h"
#include "halftone/formats/onnx/emit.h"
#include "halftone/formats/onnx/extent_values.h"
#include "halftone/formats/onnx/registry.h"
#include "halftone/formats/onnx/slicing.h"
#include "halftone/ir/extent.h"

namespace halftone::formats::onnx {
namespace {

using ir::ValueId;
using Numbers = std::vector<std::int64_t>;

/// A position, counted from the end if negative, and clamped to [low, high].
std::int64_t clamped(std::int64_t position, ir::Dim extent, std::int64_t low, std::int64_t high) {
  return std::clamp(position < 0 ? position + extent : position, low, high);
}

/// Larger ends of slices mean the end of the axis.
constexpr std::int64_t kWholeAxis = std::int64_t{1} << 30;

/// A position in an open extent, counted from the end if negative, and clamped.
/// @param more  is added before it is clamped
Extent clamped(const Extent& position, const Extent& extent, std::int64_t more) {
  if (const auto number = position.number()) {
    if (*number >= kWholeAxis) return extent;
    if (*number <= -kWholeAxis) return 0;
  }
  const bool from_end = (Extent(0) - position).is_at_least(1);
  const Extent at = from_end ? position + extent : position;
  return Extent::greatest(0, Extent::least(at + more, extent));
}

/// The same for one that the network computes, and that may be negative.
Extent computed_position(NodeBuilder& node, const Extent& position, const Extent& extent,
                         std::int64_t more) {
  const ValueId at = extent_value(node, position, "position");
  const ValueId n = extent_value(node, extent, "position");
  const ValueId zero = extent_value(node, 0, "position");
  ValueId from_front = emit_where(node, emit_binary(node, ir::BinaryKind::kLess, at, zero),
                                  emit_binary(node, ir::BinaryKind::kAdd, at, n), at);
  if (more != 0) {
    from_front =
        emit_binary(node, ir::BinaryKind::kAdd, from_front, extent_value(node, more, "position"));
  }
  return node.computed_extent(emit_binary(
      node, ir::BinaryKind::kMin, emit_binary(node, ir::BinaryKind::kMax, from_front, zero), n));
}

/// A position as a value, int64 []: counted from the end if negative, and clamped.
ValueId clamped_value(NodeBuilder& node, const Extent& position, ValueId extent, ValueId low,
                      ValueId high) {
  const ValueId at = extent_value(node, position, "position");
  const ValueId zero = node.add_scalar(0.0, ir::ElementType::kInt64);
  const ValueId from_front = emit_where(node, emit_binary(node, ir::BinaryKind::kLess, at, zero),
                                        emit_binary(node, ir::BinaryKind::kAdd, at, extent), at);
  return emit_binary(node, ir::BinaryKind::kMin,
                     emit_binary(node, ir::BinaryKind::kMax, from_front, low), high);
}

/// A slice whose step is an open extent or computed: a Gather of computed indices.
ValueId emit_open_steps(NodeBuilder& node, ValueId x, const OpenSlice& request) {
  const ir::Dim extent = node.type(x).shape[request.axis];
  if (ir::depends_on_batch(extent)) NodeBuilder::unsupported("cannot select a part of the batch");
  const auto whole = [&](double number) {
    return node.add_scalar(number, ir::ElementType::kInt64);
  };
  const ValueId n = extent_value(node, ir::extent_of(extent), "extent");
  const ValueId step = extent_value(node, request.step, "step");
  const ValueId backward = emit_binary(node, ir::BinaryKind::kLess, step, whole(0));
  const ValueId low = emit_where(node, backward, whole(-1), whole(0));
  const ValueId high = emit_binary(node, ir::BinaryKind::kAdd, n, low);
  const ValueId start = clamped_value(node, request.start, n, low, high);
  const ValueId end = clamped_value(node, request.end, n, low, high);
  const Extent count =
      count_of_steps(node, emit_binary(node, ir::BinaryKind::kSub, end, start), step);
  const ValueId steps =
      emit_binary(node, ir::BinaryKind::kMul, counting(node, count, ir::ElementType::kInt64), step);
  const ValueId indices = emit_binary(node, ir::BinaryKind::kAdd, steps, start);
  return node.emit(ir::Gather{request.axis}, {x, indices});
}

/// The number of elements in front of a position: that of an end of a slice forward, or that and
/// the element itself for one backward.
Extent elements_before(NodeBuilder& node, const Extent& position, const Extent& extent,
                       bool backward) {
  const auto symbol = position.name();
  const std::int64_t more = backward ? 1 : 0;
  if (symbol && ir::is_computed(*symbol) && position != extent) {
    return computed_position(node, position, extent, more);
  }
  return clamped(position, extent, more);
}

/// A slice whose ends or axis are open.
ValueId emit_open_slice(NodeBuilder& node, ValueId x, const OpenSlice& request) {
  const Extent extent = ir::extent_of(node.type(x).shape[request.axis]);
  const std::int64_t step = *request.step.number();
  const bool backward = step < 0;
  const std::int64_t stride = backward ? -std::max(step, -kWholeAxis) : std::min(step, kWholeAxis);
  const Extent start = elements_before(node, request.start, extent, backward);
  const Extent end = elements_before(node, request.end, extent, backward);
  const Extent length =
      backward ? start - Extent::least(start, end) : Extent::greatest(start, end) - start;
  const ir::Dim count = checked_dim((length + stride - 1).over(stride));
  const Extent begin = backward ? Extent::greatest(0, start - 1) : start;
  if (step == 1 && begin == Extent(0) && ir::extent_of(count) == extent) return x;
  return node.emit(ir::Slice{request.axis, static_cast<std::size_t>(checked_dim(begin)),
                             backward ? -stride : stride, static_cast<std::size_t>(count)},
                   {x});
}

ValueId emit_slice(NodeBuilder& node, ValueId x, const OpenSlice& open) {
  const ir::Dim extent = node.type(x).shape[open.axis];
  const auto start = open.start.number();
  const auto end = open.end.number();
  const auto step = open.step.number();
  if (!step) return emit_open_steps(node, x, open);
  if (ir::is_expression(extent) || !start || !end) return emit_open_slice(node, x, open);
  const SliceRequest request{open.axis, *start, *end, *step};
  if (ir::is_batch(extent)) {
    const bool is_whole = request.start == 0 && request.step == 1 && request.end >= kWholeAxis;
    if (!is_whole) NodeBuilder::unsupported("cannot select a part of the batch");
    return x;
  }
  const ir::Slice op = resolve_slice(request, extent);
  const bool is_whole = op.step == 1 && op.count == static_cast<std::size_t>(extent);
  return is_whole ? x : node.emit(op, {x});
}

/// Sizes of the parts of a Split: as stated, or equal with a smaller last part.
std::vector<Extent> split_sizes(NodeBuilder& node, const Extent& extent) {
  if (node.opset() < 13) {
    if (const auto sizes = node.ints_attribute("split")) return {sizes->begin(), sizes->end()};
  }
  if (node.has_input(1)) {
    if (const auto sizes = node.extents(1)) return sizes->values;
    NodeBuilder::unsupported("input 1: expected a vector of integers");
  }
  const auto parts = static_cast<std::int64_t>(node.num_outputs());
  const std::int64_t count = node.int_attribute("num_outputs", parts);
  if (count != parts || parts < 1) {
    fail(ErrorKind::kFormat,
         "expected " + std::to_string(count) + " outputs, found " + std::to_string(parts));
  }
  const Extent size = (extent + parts - 1).over(parts);
  std::vector<Extent> sizes;
  for (std::int64_t at = 0; at < parts; ++at) {
    sizes.push_back(Extent::greatest(0, Extent::least(size, extent - size * at)));
  }
  return sizes;
}

}  // namespace

std::vector<OpenSlice> open_slices(NodeBuilder& node, std::size_t rank) {
  const bool by_attribute = node.opset() < 10;
  const auto required = [&](const char* name, std::size_t i) {
    if (!by_attribute) return node.numbers_input(i);
    const auto numbers = node.ints_attribute(name);
    if (!numbers) fail(ErrorKind::kFormat, std::string("expected the attribute ") + name);
    return *numbers;
  };
  const auto positions = [&](const char* name, std::size_t i) {
    const auto known = by_attribute ? std::nullopt : node.extents(i);
    if (known) return known->values;
    const Numbers numbers = required(name, i);
    return std::vector<Extent>(numbers.begin(), numbers.end());
  };
  const std::vector<Extent> starts = positions("starts", 1);
  const std::vector<Extent> ends = positions("ends", 2);
  Numbers axes(starts.size());
  std::iota(axes.begin(), axes.end(), 0);
  if (by_attribute ? node.has_attribute("axes") : node.has_input(3)) axes = required("axes", 3);
  std::vector<Extent> steps(starts.size(), 1);
  if (!by_attribute && node.has_input(4)) steps = positions("steps", 4);
  if (ends.size() != starts.size() || axes.size() != starts.size() ||
      steps.size() != starts.size()) {
    fail(ErrorKind::kFormat, "starts, ends, axes and steps differ in length");
  }
  std::vector<OpenSlice> requests;
  for (std::size_t i = 0; i < starts.size(); ++i) {
    if (steps[i] == Extent(0)) fail(ErrorKind::kFormat, "expected a step other than 0");
    requests.push_back({ir::normalized_axis(axes[i], rank), starts[i], ends[i], steps[i]});
  }
  return requests;
}

std::vector<SliceRequest> slice_requests(NodeBuilder& node, std::size_t rank) {
  std::vector<SliceRequest> requests;
  for (const OpenSlice& open : open_slices(node, rank)) {
    const auto start = open.start.number();
    const auto end = open.end.number();
    const auto step = open.step.number();
    if (!start || !end || !step) {
      NodeBuilder::unsupported("expected numbers for the ends and steps of a slice");
    }
    requests.push_back({open.axis, *start, *end, *step});
  }
  return requests;
}

ir::Slice resolve_slice(const SliceRequest& request, ir::Dim extent) {
  ir::Slice slice{request.axis, 0, 1, 0};
  const bool forward = request.step > 0;
  const std::int64_t begin = forward ? clamped(request.start, extent, 0, extent)
                                     : clamped(request.start, extent, -1, extent - 1);
  const std::int64_t end = forward ? clamped(request.end, extent, 0, extent)
                                   : clamped(request.end, extent, -1, extent - 1);
  const std::int64_t length = forward ? end - begin : begin - end;
  if (length <= 0) return slice;
  // A step larger than the extent selects one element, so clamping it changes nothing.
  const std::int64_t limit = std::max<std::int64_t>(extent, 1);
  const std::int64_t step = std::clamp(request.step, -limit, limit);
  const std::int64_t stride = forward ? step : -step;
  slice.begin = static_cast<std::size_t>(begin);
  slice.step = step;
  slice.count = static_cast<std::size_t>((length + stride - 1) / stride);
  return slice;
}

namespace {

void build_slice(NodeBuilder& node) {
  ValueId x = node.input(0);
  for (const OpenSlice& request : open_slices(node, node.type(x).shape.rank())) {
    x = emit_slice(node, x, request);
  }
  node.set_output(0, x);
}

void build_split(NodeBuilder& node) {
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", 0), shape.rank());
  const std::vector<Extent> sizes = split_sizes(node, ir::extent_of(shape[axis]));
  if (sizes.size() != node.num_outputs()) {
    fail(ErrorKind::kFormat, "expected " + std::to_string(sizes.size()) + " outputs, found " +
                                 std::to_string(node.num_outputs()));
  }
  const std::vector<ValueId> parts = split_parts(node, x, axis, sizes);
  for (std::size_t i = 0; i < parts.size(); ++i) node.set_output(i, parts[i]);
}

}  // namespace

std::vector<ValueId> split_parts(NodeBuilder& node, ValueId x, std::size_t axis,
                                 std::span<const Extent> sizes) {
  const ir::Shape shape = node.type(x).shape;
  if (ir::depends_on_batch(shape[axis])) {
    NodeBuilder::unsupported("cannot select a part of the batch");
  }
  const Extent extent = ir::extent_of(shape[axis]);
  std::vector<ValueId> parts;
  Extent begin;
  for (const Extent& size : sizes) {
    const Extent rest = extent - begin - size;
    if (rest.is_number() && *rest.number() < 0) break;
    if (size.is_number() && *size.number() < 0) break;
    // An empty part starts at a valid position.
    const Extent first = size == Extent(0) ? Extent(0) : begin;
    parts.push_back(node.emit(ir::Slice{axis, static_cast<std::size_t>(checked_dim(first)), 1,
                                        static_cast<std::size_t>(checked_dim(size))},
                              {x}));
    begin = begin + size;
  }
  const Extent rest = extent - begin;
  if (rest.is_number() && rest != Extent(0)) {
    fail(ErrorKind::kShape,
         "parts do not add up to axis " + std::to_string(axis) + " of " + shape.to_string());
  }
  return parts;
}

namespace {

/// The indices as a slice if they are known, in range and evenly spaced.
std::optional<ir::Slice> as_slice(const std::optional<Integers>& known, std::size_t axis,
                                  ir::Dim extent) {
  const auto indices = known ? known->numbers() : std::nullopt;
  if (!indices || indices->empty()) return std::nullopt;
  if (ir::is_expression(extent)) {
    if (indices->size() != 1) return std::nullopt;
    const Extent first = (*indices)[0];
    const Extent at = (*indices)[0] < 0 ? first + ir::extent_of(extent) : first;
    return ir::Slice{axis, static_cast<std::size_t>(checked_dim(at)), 1, 1};
  }
  if (ir::is_batch(extent)) return std::nullopt;
  Numbers at;
  for (const std::int64_t index : *indices) {
    at.push_back(
        static_cast<std::int64_t>(ir::normalized_axis(index, static_cast<std::size_t>(extent))));
  }
  const std::int64_t step = at.size() > 1 ? at[1] - at[0] : 1;
  for (std::size_t i = 1; i < at.size(); ++i) {
    if (at[i] - at[i - 1] != step || step == 0) return std::nullopt;
  }
  return ir::Slice{axis, static_cast<std::size_t>(at[0]), step, at.size()};
}

/// Rows of a table of few bits.
/// @return false, with nothing added, for another operator
bool build_gather_of_codes(NodeBuilder& node) {
  const bool by_row = node.int_attribute("axis", 0) == 0 && !node.integers(1);
  const auto table = by_row ? encoded_weight(node, 0, {0, 1}) : std::nullopt;
  if (!table) return false;
  node.set_output(0, node.emit(ir::Gather{0}, {*table, node.input(1)}));
  return true;
}

/// One index or evenly spaced indices become a Slice.
void build_gather(NodeBuilder& node) {
  if (build_gather_of_codes(node)) return;
  const ValueId x = node.input(0);
  const ir::Shape shape = node.type(x).shape;
  const std::size_t axis = ir::normalized_axis(node.int_attribute("axis", 0), shape.rank());
  if (ir::depends_on_batch(shape[axis])) {
    NodeBuilder::unsupported("cannot select a part of the batch");
  }
  const auto known = node.integers(1);
  const auto slice = as_slice(known, axis, shape[axis]);
  if (!slice) {
    node.set_output(0, node.emit(ir::Gather{axis}, {x, node.input(1)}));
    return;
  }
  const ValueId taken = node.emit(*slice, {x});
  node.set_output(0, known->is_scalar ? squeezed(node, taken, axis) : taken);
}

constexpr ReaderEntry kSlicingReaders[] = {
    {"", "Slice", build_slice},
    {"", "Split", build_split},
    {"", "Gather", build_gather},
};

}  // namespace

std::span<const ReaderEntry> slicing_readers() { return kSlicingReaders; }

}  // namespace halftone::formats::onnx
