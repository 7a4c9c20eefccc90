// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/elementwise.h"

#include <algorithm>
#include <cmath>

namespace halftone::ir {
namespace {

/// Row-major strides of an operand along the axes of the result; 0 where it is broadcast.
std::vector<std::size_t> broadcast_strides(const Shape& operand, const Shape& result) {
  std::vector<std::size_t> strides(result.rank(), 0);
  std::size_t stride = 1;
  for (std::size_t i = operand.rank(); i-- > 0;) {
    if (operand[i] != 1) strides[i + result.rank() - operand.rank()] = stride;
    stride *= static_cast<std::size_t>(operand[i]);
  }
  return strides;
}

}  // namespace

std::string_view to_string(BinaryKind kind) {
  switch (kind) {
    case BinaryKind::kAdd:
      return "Add";
    case BinaryKind::kSub:
      return "Sub";
    case BinaryKind::kMul:
      return "Mul";
    case BinaryKind::kDiv:
      return "Div";
    case BinaryKind::kMax:
      return "Max";
    case BinaryKind::kMin:
      return "Min";
    case BinaryKind::kPow:
      return "Pow";
    case BinaryKind::kPRelu:
      return "PRelu";
  }
  return "unknown";
}

float apply(BinaryKind kind, float a, float b) {
  switch (kind) {
    case BinaryKind::kAdd:
      return a + b;
    case BinaryKind::kSub:
      return a - b;
    case BinaryKind::kMul:
      return a * b;
    case BinaryKind::kDiv:
      return a / b;
    case BinaryKind::kMax:
      return std::max(a, b);
    case BinaryKind::kMin:
      return std::min(a, b);
    case BinaryKind::kPow:
      return std::pow(a, b);
    case BinaryKind::kPRelu:
      return a < 0 ? a * b : a;
  }
  return a;
}

ValueType infer_types(const Unary& /*op*/, InputTypes inputs) {
  require_float(inputs, 0);
  return *inputs[0];
}

ValueType infer_types(const Binary& /*op*/, InputTypes inputs) {
  require_float(inputs, 0);
  require_float(inputs, 1);
  return dense_type(ElementType::kFloat32, broadcast(inputs[0]->shape, inputs[1]->shape));
}

ValueType infer_types(const Cast& op, InputTypes inputs) {
  require(inputs[0]->encoding.is_dense(),
          "expected dense numbers, found " + inputs[0]->to_string());
  return dense_type(op.element, inputs[0]->shape);
}

Tensor evaluate(const Unary& op, InputTensors inputs) {
  Tensor result(ElementType::kFloat32, inputs[0]->shape());
  const auto x = inputs[0]->as<float>();
  const auto y = result.as<float>();
  std::transform(x.begin(), x.end(), y.begin(),
                 [&op](float value) { return apply(op.activation, value); });
  return result;
}

Tensor evaluate(const Binary& op, InputTensors inputs) {
  const Shape shape = broadcast(inputs[0]->shape(), inputs[1]->shape());
  const auto a_strides = broadcast_strides(inputs[0]->shape(), shape);
  const auto b_strides = broadcast_strides(inputs[1]->shape(), shape);
  const auto a = inputs[0]->as<float>();
  const auto b = inputs[1]->as<float>();
  Tensor result(ElementType::kFloat32, shape);
  const auto y = result.as<float>();
  for (std::size_t i = 0; i < y.size(); ++i) {
    std::size_t rest = i;
    std::size_t at_a = 0;
    std::size_t at_b = 0;
    for (std::size_t axis = shape.rank(); axis-- > 0;) {
      const std::size_t at = rest % static_cast<std::size_t>(shape[axis]);
      rest /= static_cast<std::size_t>(shape[axis]);
      at_a += at * a_strides[axis];
      at_b += at * b_strides[axis];
    }
    y[i] = apply(op.activation, apply(op.kind, a[at_a], b[at_b]));
  }
  return result;
}

Tensor evaluate(const Cast& op, InputTensors inputs) { return inputs[0]->cast(op.element); }

// The kind of function is the name of the operator.
std::string attributes(const Unary& op) {
  const auto& [kind, alpha, beta] = op.activation;
  if (alpha == 0 && beta == 0) return "";
  return "alpha=" + std::to_string(alpha) + " beta=" + std::to_string(beta);
}

std::string attributes(const Binary& op) {
  return op.activation == Activation{} ? "" : "activation=" + to_string(op.activation);
}

std::string attributes(const Cast& op) { return std::string(to_string(op.element)); }

}  // namespace halftone::ir
