// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/layout.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "halftone/ir/extent.h"

namespace halftone::ir {
namespace {

void copy_bytes(std::span<const std::byte> src, std::span<std::byte> dst, std::size_t from,
                std::size_t to, std::size_t count) {
  if (count != 0) std::memcpy(dst.data() + to, src.data() + from, count);
}

/// The shape that two agree on outside of an axis; nullopt if they differ.
std::optional<Shape> common_shape(Shape a, const Shape& b, std::size_t axis) {
  if (a.rank() != b.rank()) return std::nullopt;
  for (std::size_t i = 0; i < a.rank(); ++i) {
    if (i == axis) continue;
    if (!may_be_equal(a[i], b[i])) return std::nullopt;
    a[i] = better_known(a[i], b[i]);
  }
  return a;
}

}  // namespace

ValueType infer_types(const Reshape& op, InputTypes inputs) {
  require_dense(inputs, 0);
  require(same_element_count(inputs[0]->shape, op.shape),
          "cannot reshape " + inputs[0]->shape.to_string() + " to " + op.shape.to_string());
  return {op.shape, inputs[0]->encoding};
}

ValueType infer_types(const Transpose& op, InputTypes inputs) {
  require_dense(inputs, 0);
  const Shape& x = inputs[0]->shape;
  std::vector<bool> seen(x.rank(), false);
  require(op.permutation.size() == x.rank(), "a permutation of " +
                                                 std::to_string(op.permutation.size()) +
                                                 " axes does not fit " + x.to_string());
  Shape y = x;
  for (std::size_t i = 0; i < x.rank(); ++i) {
    const std::size_t axis = op.permutation[i];
    require(axis < x.rank() && !seen[axis], "expected a permutation, found axis " +
                                                std::to_string(axis) + " twice or out of range");
    seen[axis] = true;
    y[i] = x[axis];
  }
  return {y, inputs[0]->encoding};
}

ValueType infer_types(const Concat& op, InputTypes inputs) {
  require_dense(inputs, 0);
  Shape y = inputs[0]->shape;
  require(op.axis < y.rank(), "axis " + std::to_string(op.axis) + " does not fit " + y.to_string());
  for (std::size_t i = 1; i < inputs.size(); ++i) {
    require_dense(inputs, i);
    const Shape& other = inputs[i]->shape;
    const bool fits = inputs[i]->encoding == inputs[0]->encoding && other.rank() == y.rank() &&
                      !depends_on_batch(y[op.axis]) && !depends_on_batch(other[op.axis]);
    if (fits) {
      const auto joined = common_shape(y, other, op.axis);
      require(joined.has_value(), "inputs " + y.to_string() + " and " + other.to_string() +
                                      " differ outside the concatenated axis");
      const Extent sum = extent_of(y[op.axis]) + extent_of(other[op.axis]);
      y = *joined;
      y[op.axis] = dim_of(sum);
    }
    require(fits, "inputs " + inputs[0]->to_string() + " and " + inputs[i]->to_string() +
                      " cannot be joined along axis " + std::to_string(op.axis));
  }
  return {y, inputs[0]->encoding};
}

ValueType infer_types(const Slice& op, InputTypes inputs) {
  require_dense(inputs, 0);
  Shape y = inputs[0]->shape;
  const bool is_computed = is_expression(static_cast<Dim>(op.count));  // of all samples together
  require(op.axis < y.rank() && (!depends_on_batch(y[op.axis]) || is_computed),
          "axis " + std::to_string(op.axis) + " of " + y.to_string() + " cannot be sliced");
  if (is_expression(y[op.axis]) || is_expression(static_cast<Dim>(op.begin)) ||
      is_expression(static_cast<Dim>(op.count))) {
    y[op.axis] = static_cast<Dim>(op.count);
    return {y, inputs[0]->encoding};
  }
  const auto extent = y[op.axis];
  const auto begin = static_cast<Dim>(op.begin);
  const auto count = static_cast<Dim>(op.count);
  // The maximum number of steps inside the axis. The product of count and step could overflow.
  const auto max_steps = [&] {
    if (op.step == 0 || op.step < -extent) return Dim{0};
    return op.step > 0 ? (extent - 1 - begin) / op.step : begin / -op.step;
  };
  const bool begins_inside = begin >= 0 && begin < extent;
  require(count == 0 || (begins_inside && count > 0 && count - 1 <= max_steps()),
          "a slice of " + std::to_string(count) + " from " + std::to_string(begin) + " by " +
              std::to_string(op.step) + " does not fit an extent of " + std::to_string(extent));
  y[op.axis] = count;
  return {y, inputs[0]->encoding};
}

Tensor evaluate(const Reshape& op, InputTensors inputs) { return inputs[0]->reshaped(op.shape); }

Tensor evaluate(const Transpose& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const Shape& x = inputs[0]->shape();
  std::vector<std::size_t> strides(x.rank(), 1);
  for (std::size_t i = x.rank(); i-- > 1;) {
    strides[i - 1] = strides[i] * static_cast<std::size_t>(x[i]);
  }
  const std::size_t bytes = size_bytes(result.element());
  for (std::size_t i = 0; i < result.size(); ++i) {
    std::size_t rest = i;
    std::size_t from = 0;
    for (std::size_t axis = x.rank(); axis-- > 0;) {
      const auto extent = static_cast<std::size_t>(result.shape()[axis]);
      from += rest % extent * strides[op.permutation[axis]];
      rest /= extent;
    }
    copy_bytes(inputs[0]->bytes(), result.bytes(), from * bytes, i * bytes, bytes);
  }
  return result;
}

Tensor evaluate(const Concat& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const std::size_t element = size_bytes(result.element());
  const AxisView to = axis_view(result.shape(), op.axis);
  std::size_t at = 0;
  for (const Tensor* input : inputs) {
    const AxisView from = axis_view(input->shape(), op.axis);
    const std::size_t chunk = from.extent * from.inner * element;
    for (std::size_t outer = 0; outer < from.outer; ++outer) {
      copy_bytes(input->bytes(), result.bytes(), outer * chunk,
                 (outer * to.extent + at) * to.inner * element, chunk);
    }
    at += from.extent;
  }
  return result;
}

Tensor evaluate(const Slice& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const AxisView from = axis_view(inputs[0]->shape(), op.axis);
  const std::size_t chunk = from.inner * size_bytes(result.element());
  for (std::size_t outer = 0; outer < from.outer; ++outer) {
    for (std::size_t i = 0; i < op.count; ++i) {
      const auto source =
          static_cast<std::size_t>(static_cast<Dim>(op.begin) + static_cast<Dim>(i) * op.step);
      copy_bytes(inputs[0]->bytes(), result.bytes(), (outer * from.extent + source) * chunk,
                 (outer * op.count + i) * chunk, chunk);
    }
  }
  return result;
}

std::string attributes(const Reshape& op) { return op.shape.to_string(); }

std::string attributes(const Transpose& op) { return joined(op.permutation); }

std::string attributes(const Concat& op) { return "axis=" + std::to_string(op.axis); }

std::string attributes(const Slice& op) {
  return "axis=" + std::to_string(op.axis) + " begin=" + to_string(static_cast<Dim>(op.begin)) +
         " step=" + std::to_string(op.step) + " count=" + to_string(static_cast<Dim>(op.count));
}

}  // namespace halftone::ir
