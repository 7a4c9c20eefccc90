// SPDX-License-Identifier: Apache-2.0
// The operators that read at indices; scatter.cc has those that write.
#include "halftone/ir/ops/indexing.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numeric>
#include <type_traits>

#include "halftone/base/error.h"
#include "halftone/ir/element.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/strides.h"

namespace halftone::ir {
namespace {

/// The indices of an input as int64.
std::vector<std::int64_t> indices_of(const Tensor& tensor) {
  const Tensor wide = tensor.cast(ElementType::kInt64);
  const auto values = wide.as<std::int64_t>();
  return {values.begin(), values.end()};
}

void copy_elements(const Tensor& src, std::size_t from, Tensor& dst, std::size_t to,
                   std::size_t count) {
  const std::size_t bytes = size_bytes(src.element());
  if (count == 0) return;
  std::memcpy(dst.bytes().data() + to * bytes, src.bytes().data() + from * bytes, count * bytes);
}

/// The number of axes of x that one index tuple of a GatherND or ScatterND addresses.
std::size_t index_depth(const Shape& x, const Shape& indices, std::size_t batch_dims) {
  require(indices.rank() > batch_dims && x.rank() > batch_dims && indices.back() >= 0,
          "indices " + indices.to_string() + " do not fit " + x.to_string());
  const auto depth = static_cast<std::size_t>(indices.back());
  require(depth <= x.rank() - batch_dims,
          "indices " + indices.to_string() + " do not fit " + x.to_string());
  for (std::size_t i = 0; i < batch_dims; ++i) {
    require(may_be_equal(x[i], indices[i]),
            "indices " + indices.to_string() + " do not fit " + x.to_string());
  }
  for (std::size_t i = 0; i < depth; ++i) require_axis(x, batch_dims + i);
  return depth;
}

/// Whether x precedes y in the order of a TopK; NaN is larger than every number.
template <typename T>
bool is_better(T x, T y, bool largest) {
  if constexpr (std::is_same_v<T, float>) {
    if (std::isnan(x) || std::isnan(y))
      return (largest ? std::isnan(x) : std::isnan(y)) && std::isnan(x) != std::isnan(y);
  }
  return largest ? x > y : x < y;
}

template <typename T>
void find_best(const TopK& op, const Tensor& x, Tensor& result) {
  const auto [outer, extent, inner] = axis_view(x.shape(), op.axis);
  const auto values = x.as<T>();
  const auto indices = result.as<std::int64_t>();
  std::vector<std::size_t> order(extent);
  for (std::size_t line = 0; line < outer * inner; ++line) {
    const std::size_t base = line / inner * extent * inner + line % inner;
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(op.k), order.end(),
                      [&, inner = inner](std::size_t l, std::size_t r) {
                        const T left = values[base + l * inner];
                        const T right = values[base + r * inner];
                        if (is_better(left, right, op.largest)) return true;
                        return !is_better(right, left, op.largest) && l < r;
                      });
    const std::size_t to = line / inner * op.k * inner + line % inner;
    for (std::size_t i = 0; i < op.k; ++i) {
      indices[to + i * inner] = static_cast<std::int64_t>(order[i]);
    }
  }
}

}  // namespace

std::size_t resolve_index(std::int64_t index, std::size_t extent) {
  const auto count = static_cast<std::int64_t>(extent);
  if (index < -count || index >= count) {
    fail(ErrorKind::kShape, "index " + std::to_string(index) +
                                " is out of range for an extent of " + std::to_string(extent));
  }
  return static_cast<std::size_t>(index < 0 ? index + count : index);
}

ValueType infer_types(const Gather& op, InputTypes inputs) {
  if (op.axis != 0) require_dense(inputs, 0);
  require_indices(inputs, 1);
  const Shape& x = inputs[0]->shape;
  require_axis(x, op.axis);
  const auto at = static_cast<std::ptrdiff_t>(op.axis);
  const auto indices = inputs[1]->shape.dims();
  std::vector<Dim> dims(x.dims().begin(), x.dims().begin() + at);
  dims.insert(dims.end(), indices.begin(), indices.end());
  dims.insert(dims.end(), x.dims().begin() + at + 1, x.dims().end());
  return dense_type(inputs[0]->encoding.element, Shape(std::move(dims)));
}

ValueType infer_types(const GatherElements& op, InputTypes inputs) {
  require_dense(inputs, 0);
  require_indices(inputs, 1);
  const Shape& x = inputs[0]->shape;
  const Shape& indices = inputs[1]->shape;
  require_axis(x, op.axis);
  bool fits = indices.rank() == x.rank();
  for (std::size_t i = 0; fits && i < x.rank(); ++i) {
    fits = i == op.axis || may_be_at_most(indices[i], x[i]);
  }
  require(fits, "indices " + indices.to_string() + " do not fit " + x.to_string() + " along axis " +
                    std::to_string(op.axis));
  return {indices, inputs[0]->encoding};
}

ValueType infer_types(const GatherND& op, InputTypes inputs) {
  require_dense(inputs, 0);
  require_indices(inputs, 1);
  const auto x = inputs[0]->shape.dims();
  const auto indices = inputs[1]->shape.dims();
  const std::size_t depth = index_depth(inputs[0]->shape, inputs[1]->shape, op.batch_dims);
  std::vector<Dim> dims(indices.begin(), indices.end() - 1);
  const auto kept = x.subspan(op.batch_dims + depth);
  dims.insert(dims.end(), kept.begin(), kept.end());
  return {Shape(std::move(dims)), inputs[0]->encoding};
}

ValueType infer_types(const OneHot& op, InputTypes inputs) {
  require_indices(inputs, 0);
  require_dense(inputs, 1);
  require(inputs[1]->shape == Shape{2},
          "values: expected [2], found " + inputs[1]->shape.to_string());
  const auto indices = inputs[0]->shape.dims();
  require(op.axis <= indices.size(),
          "axis " + std::to_string(op.axis) + " does not fit " + inputs[0]->shape.to_string());
  std::vector<Dim> dims(indices.begin(), indices.end());
  dims.insert(dims.begin() + static_cast<std::ptrdiff_t>(op.axis), static_cast<Dim>(op.depth));
  return {Shape(std::move(dims)), inputs[1]->encoding};
}

ValueType infer_types(const TopK& op, InputTypes inputs) {
  require_dense(inputs, 0);
  Shape y = inputs[0]->shape;
  require_axis(y, op.axis);
  const auto k = static_cast<Dim>(op.k);
  require(
      is_expression(y[op.axis]) || is_expression(k) || op.k <= static_cast<std::size_t>(y[op.axis]),
      "expected at most the " + std::to_string(y[op.axis]) + " elements along axis " +
          std::to_string(op.axis) + ", found k = " + std::to_string(op.k));
  y[op.axis] = k;
  return dense_type(ElementType::kInt64, y);
}

Tensor evaluate(const Gather& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const auto [outer, extent, inner] = axis_view(inputs[0]->shape(), op.axis);
  const std::vector<std::int64_t> indices = indices_of(*inputs[1]);
  for (std::size_t o = 0; o < outer; ++o) {
    for (std::size_t i = 0; i < indices.size(); ++i) {
      const std::size_t at = resolve_index(indices[i], extent);
      copy_elements(*inputs[0], (o * extent + at) * inner, result, (o * indices.size() + i) * inner,
                    inner);
    }
  }
  return result;
}

Tensor evaluate(const GatherElements& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const Shape& x = inputs[0]->shape();
  std::vector<std::size_t> strides = row_major_strides(x);
  const std::size_t stride = strides[op.axis];
  strides[op.axis] = 0;
  const auto extent = static_cast<std::size_t>(x[op.axis]);
  StridedWalk<1> walk(result.shape(), {std::move(strides)});
  const std::vector<std::int64_t> indices = indices_of(*inputs[1]);
  for (std::size_t i = 0; i < result.size(); ++i) {
    copy_elements(*inputs[0], walk.offset(0) + resolve_index(indices[i], extent) * stride, result,
                  i, 1);
    walk.next();
  }
  return result;
}

Tensor evaluate(const GatherND& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const Shape& x = inputs[0]->shape();
  const auto depth = static_cast<std::size_t>(inputs[1]->shape().back());
  const std::vector<std::size_t> strides = row_major_strides(x);
  const std::vector<std::int64_t> indices = indices_of(*inputs[1]);
  const std::size_t tuples =
      Shape({inputs[1]->shape().dims().begin(), inputs[1]->shape().dims().end() - 1})
          .element_count();
  const std::size_t batches =
      Shape({x.dims().begin(), x.dims().begin() + static_cast<std::ptrdiff_t>(op.batch_dims)})
          .element_count();
  if (result.size() == 0) return result;
  const std::size_t inner = result.size() / tuples;
  for (std::size_t p = 0; p < tuples; ++p) {
    std::size_t at = p / (tuples / batches) * (inputs[0]->size() / batches);
    for (std::size_t d = 0; d < depth; ++d) {
      const std::size_t axis = op.batch_dims + d;
      at +=
          resolve_index(indices[p * depth + d], static_cast<std::size_t>(x[axis])) * strides[axis];
    }
    copy_elements(*inputs[0], at, result, p * inner, inner);
  }
  return result;
}

Tensor evaluate(const OneHot& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const auto [outer, depth, inner] = axis_view(result.shape(), op.axis);
  const std::vector<std::int64_t> indices = indices_of(*inputs[0]);
  const auto signed_depth = static_cast<std::int64_t>(depth);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const std::size_t o = i / inner / depth;
    const auto position = static_cast<std::int64_t>(i / inner % depth);
    const std::int64_t index = indices[o * inner + i % inner];
    const bool is_hot = index == position || index + signed_depth == position;
    copy_elements(*inputs[1], is_hot ? 1 : 0, result, i, 1);
  }
  return result;
}

Tensor evaluate(const TopK& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  if (result.size() == 0) return result;
  with_element(inputs[0]->element(),
               [&](auto zero) { find_best<decltype(zero)>(op, *inputs[0], result); });
  return result;
}

std::string attributes(const Gather& op) { return "axis=" + std::to_string(op.axis); }
std::string attributes(const GatherElements& op) { return "axis=" + std::to_string(op.axis); }

std::string attributes(const GatherND& op) {
  return op.batch_dims == 0 ? "" : "batch_dims=" + std::to_string(op.batch_dims);
}

std::string attributes(const OneHot& op) {
  return "axis=" + std::to_string(op.axis) + " depth=" + to_string(static_cast<Dim>(op.depth));
}

std::string attributes(const TopK& op) {
  return to_string(static_cast<Dim>(op.k)) + (op.largest ? " largest" : " smallest") +
         " axis=" + std::to_string(op.axis);
}

}  // namespace halftone::ir
