// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/integer.h"

#include <algorithm>
#include <cmath>

#include "halftone/numerics/integer_grid.h"

namespace halftone::ir {
namespace {

bool is_code(ElementType element) {
  return element == ElementType::kInt8 || element == ElementType::kUint8;
}

void check_zero_point(std::int32_t zero_point, ElementType element) {
  const auto [low, high] = code_range(element);
  require(zero_point >= low && zero_point <= high, "zero point: expected one of " +
                                                       std::string(to_string(element)) +
                                                       ", found " + std::to_string(zero_point));
}

void check_multipliers(const Requantize& op, const Shape& shape) {
  const std::size_t count = op.multipliers.size();
  require(count == 1 || (count > 1 && shape.rank() > 0 && shape.back() == static_cast<Dim>(count)),
          std::to_string(count) + " multipliers do not fit the last axis of " + shape.to_string());
  const bool twice = op.rounding == CodeRounding::kTwice;
  for (const double m : op.multipliers) {
    require(std::isfinite(m) && m > 0,
            "multiplier: expected a positive number, found " + std::to_string(m));
    require(!twice || m < numerics::kFixedMultiplierEnd,
            "multiplier: expected one below 2^30, found " + std::to_string(m));
  }
  require(op.count >= 1 && (twice || op.count == 1),
          "count: expected 1, or more with rounding twice, found " + std::to_string(op.count));
}

/// The code of a sum before clamping.
double code_of(const Requantize& op, std::int32_t sum, double multiplier) {
  if (op.rounding == CodeRounding::kTwice) {
    const auto fixed = numerics::divided(numerics::fixed_multiplier(multiplier), op.count);
    return static_cast<double>(numerics::multiply(sum, fixed)) + op.zero_point;
  }
  const double scaled = static_cast<double>(sum) * multiplier;
  const bool away = op.rounding == CodeRounding::kHalfAway;
  return (away ? std::round(scaled) : std::nearbyint(scaled)) + op.zero_point;
}

}  // namespace

CodeRange code_range(ElementType element) {
  return element == ElementType::kUint8 ? CodeRange{0, 255} : CodeRange{-128, 127};
}

bool are_codes(const ValueType& type) {
  return type.encoding.is_dense() && is_code(type.encoding.element);
}

bool are_integers(const ValueType& x, const ValueType& w) { return are_codes(x) && are_codes(w); }

void check_operands(InputTypes inputs, const ZeroPoints& zero_points, Dim outputs) {
  const ValueType& x = *inputs[0];
  const ValueType& w = *inputs[1];
  if (are_integers(x, w)) {
    require(zero_points.w.size() <= 1 || static_cast<Dim>(zero_points.w.size()) == outputs,
            "expected a zero point for each of " + std::to_string(outputs) + " outputs, found " +
                std::to_string(zero_points.w.size()));
    check_zero_point(zero_points.x, x.encoding.element);
    for (const std::int32_t zero : zero_points.w) check_zero_point(zero, w.encoding.element);
    return;
  }
  require(
      x.encoding.element == ElementType::kFloat32 && w.encoding.element == ElementType::kFloat32,
      "expected float32 operands, found " + x.to_string() + " and " + w.to_string());
  require(zero_points == ZeroPoints{}, "zero points: expected none for float32 operands");
}

void check_bias(InputTypes inputs, std::size_t index, Dim outputs) {
  if (index >= inputs.size() || inputs[index] == nullptr) return;
  if (are_integers(*inputs[0], *inputs[1])) {
    require(inputs[index]->is_dense(ElementType::kInt32),
            "bias of integers: expected int32, found " + inputs[index]->to_string());
  } else {
    require_float(inputs, index);
  }
  require(inputs[index]->shape == Shape{outputs}, "bias: expected " + Shape{outputs}.to_string() +
                                                      ", found " +
                                                      inputs[index]->shape.to_string());
}

std::string to_string(const ZeroPoints& zero_points) {
  if (zero_points == ZeroPoints{}) return "";
  std::string text = "zero_points=" + std::to_string(zero_points.x);
  if (zero_points.w.size() == 1) text += "," + std::to_string(zero_points.w[0]);
  if (zero_points.w.size() > 1) text += "," + std::to_string(zero_points.w.size()) + " of outputs";
  return text;
}

ValueType infer_types(const Requantize& op, InputTypes inputs) {
  const ValueType& x = *inputs[0];
  require(x.is_dense(ElementType::kInt32), "expected int32, found " + x.to_string());
  require(is_code(op.element),
          "expected int8 or uint8 codes, found " + std::string(to_string(op.element)));
  check_multipliers(op, x.shape);
  check_zero_point(op.zero_point, op.element);
  const auto [low, high] = code_range(op.element);
  require(op.low >= low && op.high <= high && op.low <= op.high,
          "bounds: expected a range within " + std::string(to_string(op.element)) + ", found " +
              std::to_string(op.low) + " to " + std::to_string(op.high));
  return dense_type(op.element, x.shape);
}

Tensor evaluate(const Requantize& op, InputTensors inputs) {
  const auto x = inputs[0]->as<std::int32_t>();
  Tensor result(op.element, inputs[0]->shape());
  const std::size_t count = op.multipliers.size();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double q = std::clamp(code_of(op, x[i], op.multipliers[i % count]),
                                static_cast<double>(op.low), static_cast<double>(op.high));
    if (op.element == ElementType::kInt8) {
      result.as<std::int8_t>()[i] = static_cast<std::int8_t>(q);
    } else {
      result.as<std::uint8_t>()[i] = static_cast<std::uint8_t>(q);
    }
  }
  return result;
}

std::string attributes(const Requantize& op) {
  std::string text(to_string(op.element));
  text += op.multipliers.size() == 1 ? " multiplier=" + std::to_string(op.multipliers[0])
                                     : " " + std::to_string(op.multipliers.size()) + " multipliers";
  text += " zero_point=" + std::to_string(op.zero_point);
  const auto [low, high] = code_range(op.element);
  if (op.low != low || op.high != high) {
    text += " within " + std::to_string(op.low) + " to " + std::to_string(op.high);
  }
  if (op.rounding != CodeRounding::kHalfEven)
    text.append(" rounding ").append(to_string(op.rounding));
  if (op.count != 1) text += " mean of " + std::to_string(op.count);
  return text;
}

ValueType infer_types(const Lookup& op, InputTypes inputs) {
  require(are_codes(*inputs[0]), "expected int8 or uint8 codes, found " + inputs[0]->to_string());
  require(is_code(op.element) || op.element == ElementType::kInt32,
          "expected int8, uint8 or int32, found " + std::string(to_string(op.element)));
  require(op.table.size() == Lookup::kCodes,
          "table: expected 256 values, one per code, found " + std::to_string(op.table.size()));
  if (is_code(op.element)) {
    const auto [low, high] = code_range(op.element);
    for (const std::int32_t y : op.table) {
      require(y >= low && y <= high, "table: expected values of " +
                                         std::string(to_string(op.element)) + ", found " +
                                         std::to_string(y));
    }
  }
  return dense_type(op.element, inputs[0]->shape);
}

Tensor evaluate(const Lookup& op, InputTensors inputs) {
  const Tensor codes = inputs[0]->cast(ElementType::kInt32);
  Tensor result(ElementType::kInt32, inputs[0]->shape());
  const std::int32_t lowest = code_range(inputs[0]->element()).low;
  std::ranges::transform(
      codes.as<std::int32_t>(), result.as<std::int32_t>().begin(),
      [&](std::int32_t code) { return op.table[static_cast<std::size_t>(code - lowest)]; });
  return result.cast(op.element);
}

std::string attributes(const Lookup& op) {
  const auto [min, max] = std::ranges::minmax(op.table);
  return std::string(to_string(op.element)) + " from " + std::to_string(min) + " to " +
         std::to_string(max);
}

}  // namespace halftone::ir
