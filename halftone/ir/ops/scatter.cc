// SPDX-License-Identifier: Apache-2.0
// The operators of indexing.h that write at indices.
#include <algorithm>
#include <type_traits>

#include "halftone/base/elementary.h"
#include "halftone/ir/element.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/ops/indexing.h"
#include "halftone/ir/strides.h"

namespace halftone::ir {
namespace {

template <typename T>
T combined(Scatter reduction, T y, T u) {
  using Wide = std::conditional_t<std::is_same_v<T, float>, float, std::uint64_t>;
  switch (reduction) {
    case Scatter::kReplace:
      return u;
    case Scatter::kAdd:
      return static_cast<T>(static_cast<Wide>(y) + static_cast<Wide>(u));
    case Scatter::kMul:
      return static_cast<T>(static_cast<Wide>(y) * static_cast<Wide>(u));
    case Scatter::kMax:
      return elementary::larger(y, u);
    case Scatter::kMin:
      return elementary::smaller(y, u);
  }
  return u;
}

void require_updates(Scatter reduction, InputTypes inputs) {
  require_dense(inputs, 0);
  require_indices(inputs, 1);
  require_dense(inputs, 2);
  require(inputs[0]->encoding == inputs[2]->encoding,
          "updates " + inputs[2]->to_string() + " differ in type from " + inputs[0]->to_string());
  require(reduction == Scatter::kReplace || inputs[0]->encoding.element != ElementType::kBool,
          "input 0: expected float32 or integers, found " + inputs[0]->to_string());
}

/// Destinations of the rows of a ScatterND, as offsets into x.
std::vector<std::size_t> row_offsets(const Shape& x, const Tensor& indices) {
  const Tensor wide = indices.cast(ElementType::kInt64);
  const auto values = wide.as<std::int64_t>();
  const auto depth = static_cast<std::size_t>(indices.shape().back());
  const auto dims = indices.shape().dims();
  const std::size_t rows = Shape({dims.begin(), dims.end() - 1}).element_count();
  const std::vector<std::size_t> strides = row_major_strides(x);
  std::vector<std::size_t> offsets(rows, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t d = 0; d < depth; ++d) {
      offsets[row] +=
          resolve_index(values[row * depth + d], static_cast<std::size_t>(x[d])) * strides[d];
    }
  }
  return offsets;
}

}  // namespace

std::string_view to_string(Scatter reduction) {
  static constexpr std::string_view kNames[] = {"none", "add", "mul", "max", "min"};
  const auto i = static_cast<std::size_t>(reduction);
  return i < std::size(kNames) ? kNames[i] : "unknown";
}

ValueType infer_types(const ScatterElements& op, InputTypes inputs) {
  require_updates(op.reduction, inputs);
  const Shape& x = inputs[0]->shape;
  const Shape& indices = inputs[1]->shape;
  require_axis(x, op.axis);
  bool fits = indices.rank() == x.rank() && may_be_equal(indices, inputs[2]->shape);
  for (std::size_t i = 0; fits && i < x.rank(); ++i) {
    fits = i == op.axis || may_be_at_most(indices[i], x[i]);
  }
  require(fits, "indices " + indices.to_string() + " and updates " + inputs[2]->shape.to_string() +
                    " do not fit " + x.to_string() + " along axis " + std::to_string(op.axis));
  return *inputs[0];
}

ValueType infer_types(const ScatterND& op, InputTypes inputs) {
  require_updates(op.reduction, inputs);
  const Shape& x = inputs[0]->shape;
  const auto indices = inputs[1]->shape.dims();
  const std::string found = "indices " + inputs[1]->shape.to_string() + " and updates " +
                            inputs[2]->shape.to_string() + " do not fit " + x.to_string();
  require(!indices.empty() && indices.back() >= 0 && indices.back() <= static_cast<Dim>(x.rank()),
          found);
  const auto depth = static_cast<std::size_t>(indices.back());
  for (std::size_t i = 0; i < depth; ++i) require_axis(x, i);
  std::vector<Dim> wanted(indices.begin(), indices.end() - 1);
  const auto kept = x.dims().subspan(depth);
  wanted.insert(wanted.end(), kept.begin(), kept.end());
  require(may_be_equal(inputs[2]->shape, Shape(std::move(wanted))), found);
  return *inputs[0];
}

Tensor evaluate(const ScatterElements& op, InputTensors inputs) {
  Tensor result = inputs[0]->clone();
  const Shape& x = result.shape();
  std::vector<std::size_t> strides = row_major_strides(x);
  const std::size_t stride = strides[op.axis];
  strides[op.axis] = 0;
  const auto extent = static_cast<std::size_t>(x[op.axis]);
  StridedWalk<1> walk(inputs[1]->shape(), {std::move(strides)});
  const Tensor wide = inputs[1]->cast(ElementType::kInt64);
  const auto indices = wide.as<std::int64_t>();
  with_element(result.element(), [&](auto zero) {
    using T = decltype(zero);
    const auto updates = inputs[2]->as<T>();
    const auto y = result.as<T>();
    for (std::size_t i = 0; i < updates.size(); ++i) {
      T& element = y[walk.offset(0) + resolve_index(indices[i], extent) * stride];
      element = combined<T>(op.reduction, element, updates[i]);
      walk.next();
    }
  });
  return result;
}

Tensor evaluate(const ScatterND& op, InputTensors inputs) {
  Tensor result = inputs[0]->clone();
  const std::vector<std::size_t> offsets = row_offsets(result.shape(), *inputs[1]);
  if (inputs[2]->size() == 0) return result;
  const std::size_t inner = inputs[2]->size() / offsets.size();
  with_element(result.element(), [&](auto zero) {
    using T = decltype(zero);
    const auto updates = inputs[2]->as<T>();
    const auto y = result.as<T>();
    for (std::size_t i = 0; i < updates.size(); ++i) {
      T& element = y[offsets[i / inner] + i % inner];
      element = combined<T>(op.reduction, element, updates[i]);
    }
  });
  return result;
}

std::string attributes(const ScatterElements& op) {
  return "axis=" + std::to_string(op.axis) + " " + std::string(to_string(op.reduction));
}

std::string attributes(const ScatterND& op) { return std::string(to_string(op.reduction)); }

}  // namespace halftone::ir
