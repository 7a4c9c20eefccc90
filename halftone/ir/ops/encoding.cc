// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/encoding.h"

#include <algorithm>
#include <cmath>

#include "halftone/base/printable.h"
#include "halftone/numerics/number_format.h"

namespace halftone::ir {
namespace {

bool is_affine_element(ElementType element) {
  return element == ElementType::kInt8 || element == ElementType::kUint8 ||
         element == ElementType::kInt16 || element == ElementType::kInt32;
}

void check_parameters(const AffineParameters& parameters, const Shape& shape) {
  const std::size_t count = parameters.scales.size();
  require(count >= 1 && parameters.zero_points.size() == count,
          "expected a zero point for each of " + std::to_string(count) + " scales, found " +
              std::to_string(parameters.zero_points.size()));
  require(count == 1 ||
              (parameters.axis < shape.rank() && shape[parameters.axis] == static_cast<Dim>(count)),
          std::to_string(count) + " scales do not fit axis " + std::to_string(parameters.axis) +
              " of " + shape.to_string());
  for (const float scale : parameters.scales) {
    require(std::isfinite(scale) && scale > 0,
            "scale: expected a positive number, found " + number_text(scale));
  }
}

/// Calls visit(element_index, parameter_index) for every element in order.
template <typename Visit>
void for_each_element(const AffineParameters& parameters, const Shape& shape, Visit&& visit) {
  std::size_t inner = 1;
  for (std::size_t i = parameters.axis + 1; i < shape.rank(); ++i) {
    inner *= static_cast<std::size_t>(shape[i]);
  }
  const std::size_t count = parameters.scales.size();
  for (std::size_t i = 0; i < shape.element_count(); ++i) {
    visit(i, count == 1 ? 0 : i / inner % count);
  }
}

std::string parameters_text(const AffineParameters& parameters) {
  if (parameters.scales.size() > 1) {
    return std::to_string(parameters.scales.size()) + " scales along axis " +
           std::to_string(parameters.axis);
  }
  return "scale=" + std::to_string(parameters.scales[0]) +
         " zero_point=" + std::to_string(parameters.zero_points[0]);
}

/// The extent of the matrix whose rows lie along the last axis.
MatrixExtent last_axis_rows(const Shape& shape) {
  const auto cols = static_cast<std::size_t>(shape.back());
  return {cols == 0 ? 0 : shape.element_count() / cols, cols};
}

float rounded(float x, CodeRounding rounding) {
  return rounding == CodeRounding::kHalfAway ? std::round(x) : std::nearbyint(x);
}

}  // namespace

std::string_view to_string(CodeRounding rounding) {
  switch (rounding) {
    case CodeRounding::kHalfEven:
      return "half even";
    case CodeRounding::kHalfAway:
      return "half away";
    case CodeRounding::kTwice:
      return "twice";
  }
  return "unknown";
}

ValueType infer_types(const Encode& op, InputTypes inputs) {
  require_float(inputs, 0);
  require(inputs[0]->shape.rank() >= 1, "expected at least one axis, found a scalar");
  require(op.encoding != nullptr && op.encoding->granularity == numerics::Granularity::kTensor,
          "encoding: expected one scale for the tensor");
  op.encoding->check(1, 1);
  return {inputs[0]->shape, {ElementType::kFloat32, op.encoding}};
}

ValueType infer_types(const FakeQuantize& op, InputTypes inputs) {
  require_float(inputs, 0);
  require(inputs[0]->shape.rank() >= 1, "expected at least one axis, found a scalar");
  require(op.system != nullptr && !op.system->is_learned() && op.system->vectors == nullptr,
          "number system: expected one whose levels are not learned, nor vectors");
  require(op.system->allows(op.bits), "number system '" + std::string(op.system->name) +
                                          "': does not have " + std::to_string(op.bits) + " bits");
  const bool is_grouped = op.blocks.granularity == numerics::Granularity::kGroup;
  require(is_grouped == (op.blocks.group_size != 0),
          "a group size of " + std::to_string(op.blocks.group_size) +
              " does not go with granularity " + std::string(to_string(op.blocks.granularity)));
  return *inputs[0];
}

ValueType infer_types(const QuantizeLinear& op, InputTypes inputs) {
  require_float(inputs, 0);
  require(is_affine_element(op.element), "expected int8, uint8, int16 or int32 codes, found " +
                                             std::string(to_string(op.element)));
  require(op.rounding != CodeRounding::kTwice,
          "rounding: expected half even or half away, found twice");
  check_parameters(op.parameters, inputs[0]->shape);
  return dense_type(op.element, inputs[0]->shape);
}

ValueType infer_types(const DequantizeLinear& op, InputTypes inputs) {
  const ElementType element = inputs[0]->encoding.element;
  require(inputs[0]->encoding.is_dense() &&
              (is_affine_element(element) || element == ElementType::kInt64),
          "expected int8, uint8, int16, int32 or int64 codes, found " + inputs[0]->to_string());
  check_parameters(op.parameters, inputs[0]->shape);
  return dense_type(ElementType::kFloat32, inputs[0]->shape);
}

Tensor evaluate(const Encode& op, InputTensors inputs) {
  Tensor result(ElementType::kFloat32, inputs[0]->shape());
  const numerics::LevelTable table(op.encoding->levels(0));
  const auto x = inputs[0]->as<float>();
  std::transform(x.begin(), x.end(), result.as<float>().begin(),
                 [&](float value) { return table.nearest(apply(op.activation, value)); });
  return result;
}

Tensor evaluate(const FakeQuantize& op, InputTensors inputs) {
  Tensor result(ElementType::kFloat32, inputs[0]->shape());
  const auto [rows, cols] = last_axis_rows(inputs[0]->shape());
  if (rows == 0 || cols == 0) return result;
  const Shape& shape = inputs[0]->shape();
  const std::size_t samples = shape.rank() == 1 ? 1 : static_cast<std::size_t>(shape[0]);
  const MatrixView<const float> x(inputs[0]->as<float>(), rows, cols);
  const MatrixView<float> y(result.as<float>(), rows, cols);
  const std::size_t each = rows / samples;
  const numerics::NumberFormat format{op.system, op.bits, op.blocks};
  for (std::size_t first = 0; first < rows; first += each) {
    numerics::round_by_rule(format, x.rows_from(first, each), y.rows_from(first, each));
  }
  return result;
}

Tensor evaluate(const QuantizeLinear& op, InputTensors inputs) {
  Tensor wide(ElementType::kFloat32, inputs[0]->shape());
  const auto x = inputs[0]->as<float>();
  const auto q = wide.as<float>();
  for_each_element(op.parameters, wide.shape(), [&](std::size_t i, std::size_t p) {
    q[i] = rounded(x[i] / op.parameters.scales[p], op.rounding) +
           static_cast<float>(op.parameters.zero_points[p]);
  });
  return wide.cast(op.element);
}

Tensor evaluate(const DequantizeLinear& op, InputTensors inputs) {
  const Tensor wide = inputs[0]->cast(ElementType::kInt64);
  Tensor result(ElementType::kFloat32, inputs[0]->shape());
  const auto q = wide.as<std::int64_t>();
  const auto x = result.as<float>();
  for_each_element(op.parameters, result.shape(), [&](std::size_t i, std::size_t p) {
    x[i] = op.parameters.scales[p] * static_cast<float>(q[i] - op.parameters.zero_points[p]);
  });
  return result;
}

std::string attributes(const Encode& op) {
  std::string encoding = Encoding{ElementType::kFloat32, op.encoding}.to_string();
  if (op.activation.kind == ActivationKind::kIdentity) return encoding;
  return encoding + " of " + to_string(op.activation);
}

std::string attributes(const FakeQuantize& op) {
  std::string text = std::string(op.system->name) + "(" + std::to_string(op.bits) +
                     (op.bits == 1 ? " bit" : " bits");
  switch (op.blocks.granularity) {
    case numerics::Granularity::kTensor:
      return text + ", a scale per sample)";
    case numerics::Granularity::kChannel:
      return text + ", a scale per row)";
    case numerics::Granularity::kGroup:
      break;
  }
  return text + ", groups of " + std::to_string(op.blocks.group_size) + ")";
}

std::string attributes(const QuantizeLinear& op) {
  std::string text = std::string(to_string(op.element)) + " " + parameters_text(op.parameters);
  if (op.rounding != CodeRounding::kHalfEven)
    text.append(" rounding ").append(to_string(op.rounding));
  return text;
}

std::string attributes(const DequantizeLinear& op) { return parameters_text(op.parameters); }

}  // namespace halftone::ir
