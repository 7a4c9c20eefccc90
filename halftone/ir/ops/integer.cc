// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/integer.h"

#include <algorithm>
#include <cmath>

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

}  // namespace

CodeRange code_range(ElementType element) {
  return element == ElementType::kUint8 ? CodeRange{0, 255} : CodeRange{-128, 127};
}

bool are_integers(const ValueType& x, const ValueType& w) {
  return x.encoding.is_dense() && w.encoding.is_dense() && is_code(x.encoding.element) &&
         is_code(w.encoding.element);
}

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
      "expected numbers of float32, found " + x.to_string() + " and " + w.to_string());
  require(zero_points == ZeroPoints{}, "zero points of numbers that are no integers");
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
  const std::size_t count = op.multipliers.size();
  require(
      count == 1 || (count > 1 && x.shape.rank() > 0 && x.shape.back() == static_cast<Dim>(count)),
      std::to_string(count) + " multipliers do not fit the last axis of " + x.shape.to_string());
  for (const double multiplier : op.multipliers) {
    require(std::isfinite(multiplier) && multiplier > 0,
            "multiplier: expected a positive number, found " + std::to_string(multiplier));
  }
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
    const double scaled = std::nearbyint(static_cast<double>(x[i]) * op.multipliers[i % count]);
    const double q = std::clamp(scaled + op.zero_point, static_cast<double>(op.low),
                                static_cast<double>(op.high));
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
  return text;
}

}  // namespace halftone::ir
