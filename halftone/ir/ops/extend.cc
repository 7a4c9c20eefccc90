// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/extend.h"

#include <cstring>
#include <optional>

#include "halftone/ir/extent.h"
#include "halftone/ir/strides.h"

namespace halftone::ir {
namespace {

constexpr std::size_t kMaxExtent = std::size_t{1} << 40;

void copy_element(const Tensor& src, std::size_t from, Tensor& dst, std::size_t to) {
  const std::size_t bytes = size_bytes(src.element());
  std::memcpy(dst.bytes().data() + to * bytes, src.bytes().data() + from * bytes, bytes);
}

std::vector<std::size_t> no_strides(const Shape& shape) {
  return std::vector<std::size_t>(shape.rank(), 0);
}

/// Offset of the element of x that a position of a Pad's output shows; none for constant padding.
std::optional<std::size_t> source_of(const Pad& op, const StridedWalk<1>& walk, const Shape& x,
                                     const std::vector<std::size_t>& strides) {
  std::size_t offset = 0;
  for (std::size_t axis = 0; axis < x.rank(); ++axis) {
    const auto index =
        static_cast<std::int64_t>(walk.position(axis)) - static_cast<std::int64_t>(op.before[axis]);
    const std::int64_t from = padded_index(op.mode, index, x[axis]);
    if (from < 0) return std::nullopt;
    offset += static_cast<std::size_t>(from) * strides[axis];
  }
  return offset;
}

/// Of a number, or an extent that is open.
bool is_at_most(std::size_t extent, std::size_t bound) {
  return extent <= bound || is_expression(static_cast<Dim>(extent));
}

}  // namespace

std::string_view to_string(PadMode mode) {
  static constexpr std::string_view kNames[] = {"constant", "reflect", "edge", "wrap"};
  const auto i = static_cast<std::size_t>(mode);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

ValueType infer_types(const Pad& op, InputTypes inputs) {
  require_dense(inputs, 0);
  Shape y = inputs[0]->shape;
  require(op.before.size() == y.rank() && op.after.size() == y.rank(),
          "expected pads for " + std::to_string(y.rank()) + " axes, found " +
              std::to_string(op.before.size()) + " and " + std::to_string(op.after.size()));
  for (std::size_t i = 0; i < y.rank(); ++i) {
    if (op.before[i] == 0 && op.after[i] == 0) continue;
    require_axis(y, i);
    require(is_at_most(op.before[i], kMaxExtent) && is_at_most(op.after[i], kMaxExtent),
            "pads of axis " + std::to_string(i) + ": expected at most 2^40 elements");
    require(op.mode == PadMode::kConstant || y[i] > 0 || is_expression(y[i]),
            "axis " + std::to_string(i) + " of " + y.to_string() + " has nothing to repeat");
    y[i] = dim_of(extent_of(y[i]) + extent_of(static_cast<Dim>(op.before[i])) +
                  extent_of(static_cast<Dim>(op.after[i])));
  }
  if (inputs.size() > 1 && inputs[1] != nullptr) {
    require(inputs[1]->encoding == inputs[0]->encoding && inputs[1]->shape.rank() == 0,
            "value: expected one element of the type of " + inputs[0]->to_string() + ", found " +
                inputs[1]->to_string());
  }
  return {y, inputs[0]->encoding};
}

ValueType infer_types(const BroadcastTo& op, InputTypes inputs) {
  require_dense(inputs, 0);
  return {broadcast(inputs[0]->shape, op.shape), inputs[0]->encoding};
}

ValueType infer_types(const Tile& op, InputTypes inputs) {
  require_dense(inputs, 0);
  Shape y = inputs[0]->shape;
  require(op.repeats.size() == y.rank(), "expected repeats for " + std::to_string(y.rank()) +
                                             " axes, found " + std::to_string(op.repeats.size()));
  for (std::size_t i = 0; i < y.rank(); ++i) {
    if (op.repeats[i] == 1) continue;
    require_axis(y, i);
    const auto repeats = static_cast<Dim>(op.repeats[i]);
    if (is_expression(y[i]) || is_expression(repeats)) {
      y[i] = dim_of(extent_of(y[i]) * extent_of(repeats));
      continue;
    }
    const auto extent = static_cast<std::size_t>(y[i]);
    require(extent == 0 || op.repeats[i] <= kMaxExtent / extent,
            "repeats of axis " + std::to_string(i) + ": expected at most 2^40 elements");
    y[i] = extent == 0 ? 0 : static_cast<Dim>(extent * op.repeats[i]);
  }
  return {y, inputs[0]->encoding};
}

ValueType infer_types(const ReverseSequence& op, InputTypes inputs) {
  require_dense(inputs, 0);
  require_indices(inputs, 1);
  const Shape& x = inputs[0]->shape;
  require_axis(x, op.time_axis);
  require(op.batch_axis < x.rank() && op.batch_axis != op.time_axis,
          "batch axis " + std::to_string(op.batch_axis) + " does not fit " + x.to_string());
  require(may_be_equal(inputs[1]->shape, Shape{x[op.batch_axis]}),
          "lengths: expected " + Shape{x[op.batch_axis]}.to_string() + ", found " +
              inputs[1]->shape.to_string());
  return *inputs[0];
}

Tensor evaluate(const Pad& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const Tensor& x = *inputs[0];
  const bool has_value = inputs.size() > 1 && inputs[1] != nullptr;
  const std::vector<std::size_t> strides = row_major_strides(x.shape());
  StridedWalk<1> walk(result.shape(), {no_strides(result.shape())});
  for (std::size_t i = 0; i < result.size(); ++i) {
    if (const auto from = source_of(op, walk, x.shape(), strides)) {
      copy_element(x, *from, result, i);
    } else if (has_value) {
      copy_element(*inputs[1], 0, result, i);
    }
    walk.next();
  }
  return result;
}

Tensor evaluate(const BroadcastTo& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  StridedWalk<1> walk(result.shape(), {broadcast_strides(inputs[0]->shape(), result.shape())});
  for (std::size_t i = 0; i < result.size(); ++i) {
    copy_element(*inputs[0], walk.offset(0), result, i);
    walk.next();
  }
  return result;
}

Tensor evaluate(const Tile& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const Shape& x = inputs[0]->shape();
  const std::vector<std::size_t> strides = row_major_strides(x);
  StridedWalk<1> walk(result.shape(), {no_strides(result.shape())});
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::size_t from = 0;
    for (std::size_t axis = 0; axis < x.rank(); ++axis) {
      from += walk.position(axis) % static_cast<std::size_t>(x[axis]) * strides[axis];
    }
    copy_element(*inputs[0], from, result, i);
    walk.next();
  }
  return result;
}

Tensor evaluate(const ReverseSequence& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const Shape& shape = result.shape();
  const auto extent = shape[op.time_axis];
  const Tensor wide = inputs[1]->cast(ElementType::kInt64);
  const auto lengths = wide.as<std::int64_t>();
  for (const std::int64_t length : lengths) {
    require(length >= 0 && length <= extent, "length " + std::to_string(length) +
                                                 " is out of range for an extent of " +
                                                 std::to_string(extent));
  }
  const std::size_t stride = row_major_strides(shape)[op.time_axis];
  StridedWalk<1> walk(shape, {row_major_strides(shape)});
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t at = walk.position(op.time_axis);
    const auto length = static_cast<std::size_t>(lengths[walk.position(op.batch_axis)]);
    const std::size_t from = at < length ? length - 1 - at : at;
    copy_element(*inputs[0], i - at * stride + from * stride, result, i);
    walk.next();
  }
  return result;
}

std::string attributes(const Pad& op) {
  return std::string(to_string(op.mode)) + " before=" + joined(op.before) +
         " after=" + joined(op.after);
}

std::string attributes(const BroadcastTo& op) { return op.shape.to_string(); }

std::string attributes(const Tile& op) { return joined(op.repeats); }

std::string attributes(const ReverseSequence& op) {
  return "batch_axis=" + std::to_string(op.batch_axis) +
         " time_axis=" + std::to_string(op.time_axis);
}

}  // namespace halftone::ir
