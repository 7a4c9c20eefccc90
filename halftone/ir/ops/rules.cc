// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/rules.h"

#include "halftone/base/error.h"
#include "halftone/ir/extent.h"

namespace halftone::ir {

void require(bool condition, const std::string& message) {
  if (!condition) fail(ErrorKind::kShape, message);
}

void require_float(InputTypes inputs, std::size_t index) {
  require(
      inputs[index]->is_dense(ElementType::kFloat32),
      "input " + std::to_string(index) + ": expected float32, found " + inputs[index]->to_string());
}

void require_dense(InputTypes inputs, std::size_t index) {
  require(inputs[index] != nullptr, "input " + std::to_string(index) + " is absent");
  require(inputs[index]->encoding.is_dense(), "input " + std::to_string(index) +
                                                  ": expected dense elements, found " +
                                                  inputs[index]->to_string());
}

void require_indices(InputTypes inputs, std::size_t index) {
  require_dense(inputs, index);
  require(
      inputs[index]->is_dense(ElementType::kInt32) || inputs[index]->is_dense(ElementType::kInt64),
      "input " + std::to_string(index) + ": expected int32 or int64, found " +
          inputs[index]->to_string());
}

void require_axis(const Shape& shape, std::size_t axis) {
  require(axis < shape.rank(),
          "axis " + std::to_string(axis) + " does not fit " + shape.to_string());
  require(!depends_on_batch(shape[axis]), "axis " + std::to_string(axis) + " of " +
                                              shape.to_string() +
                                              ": expected a known extent, found the batch");
}

void require_axes(const Shape& shape, std::span<const std::size_t> axes) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    require_axis(shape, axes[i]);
    require(i == 0 || axes[i - 1] < axes[i],
            "axes: expected ascending order, found " + joined(axes));
  }
}

AxisView axis_view(const Shape& shape, std::size_t axis) {
  AxisView view;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const auto dim = static_cast<std::size_t>(shape[i]);
    (i < axis ? view.outer : i == axis ? view.extent : view.inner) *= dim;
  }
  return view;
}

std::string joined(std::span<const std::size_t> numbers) {
  std::string text;
  for (const std::size_t number : numbers) {
    text.append(text.empty() ? "" : " ").append(to_string(static_cast<Dim>(number)));
  }
  return text;
}

}  // namespace halftone::ir
