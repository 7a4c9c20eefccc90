// SPDX-License-Identifier: Apache-2.0
// Unary, Where and Cast; Binary is in binary.cc.
#include "halftone/ir/ops/elementwise.h"

#include <algorithm>
#include <type_traits>

#include "halftone/ir/element.h"
#include "halftone/ir/strides.h"

namespace halftone::ir {
namespace {

/// Abs, Neg, Sign or Not of one integer.
template <typename T>
T apply_integer(ActivationKind kind, T x) {
  if (kind == ActivationKind::kSign) return static_cast<T>((x > T{0}) - (x < T{0}));
  if (kind == ActivationKind::kNot) return static_cast<T>(~static_cast<std::uint64_t>(x));
  if (kind == ActivationKind::kAbs && x >= T{0}) return x;
  return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(x));
}

template <typename T, typename Result, typename Function>
void for_elements(const Tensor& x, Tensor& y, Function&& function) {
  const auto from = x.as<T>();
  std::transform(from.begin(), from.end(), y.as<Result>().begin(), function);
}

}  // namespace

ValueType infer_types(const Unary& op, InputTypes inputs) {
  require_dense(inputs, 0);
  const ActivationKind kind = op.activation.kind;
  const ElementType element = inputs[0]->encoding.element;
  if (is_integer(element) && traits_of(kind).takes_integers) return *inputs[0];
  if (kind == ActivationKind::kNot) {
    require(element == ElementType::kBool,
            "input 0: expected bool or integers, found " + inputs[0]->to_string());
    return *inputs[0];
  }
  require_float(inputs, 0);
  return is_predicate(kind) ? dense_type(ElementType::kBool, inputs[0]->shape) : *inputs[0];
}

ValueType infer_types(const Where& /*op*/, InputTypes inputs) {
  for (std::size_t i = 0; i < 3; ++i) require_dense(inputs, i);
  require(inputs[0]->is_dense(ElementType::kBool),
          "input 0: expected bool, found " + inputs[0]->to_string());
  require(
      inputs[1]->encoding == inputs[2]->encoding,
      "operands " + inputs[1]->to_string() + " and " + inputs[2]->to_string() + " differ in type");
  return {broadcast(broadcast(inputs[0]->shape, inputs[1]->shape), inputs[2]->shape),
          inputs[1]->encoding};
}

ValueType infer_types(const Cast& op, InputTypes inputs) {
  require(inputs[0]->encoding.is_dense(),
          "expected dense elements, found " + inputs[0]->to_string());
  return dense_type(op.element, inputs[0]->shape);
}

Tensor evaluate(const Unary& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const Tensor& x = *inputs[0];
  const Activation& activation = op.activation;
  with_element(x.element(), [&](auto zero) {
    using T = decltype(zero);
    if constexpr (std::is_same_v<T, float>) {
      if (is_predicate(activation.kind)) {
        for_elements<T, std::uint8_t>(x, result, [&](T value) {
          return static_cast<std::uint8_t>(apply(activation, value));
        });
      } else {
        for_elements<T, T>(x, result, [&](T value) { return apply(activation, value); });
      }
    } else if (x.element() == ElementType::kBool) {
      for_elements<T, T>(x, result, [](T value) { return static_cast<T>(value == 0); });
    } else {
      for_elements<T, T>(x, result,
                         [&](T value) { return apply_integer<T>(activation.kind, value); });
    }
  });
  return result;
}

Tensor evaluate(const Where& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  const Shape& shape = result.shape();
  StridedWalk<3> walk(shape, {broadcast_strides(inputs[0]->shape(), shape),
                              broadcast_strides(inputs[1]->shape(), shape),
                              broadcast_strides(inputs[2]->shape(), shape)});
  const auto condition = inputs[0]->as<std::uint8_t>();
  with_element(result.element(), [&](auto zero) {
    using T = decltype(zero);
    const auto a = inputs[1]->as<T>();
    const auto b = inputs[2]->as<T>();
    for (T& y : result.as<T>()) {
      y = condition[walk.offset(0)] != 0 ? a[walk.offset(1)] : b[walk.offset(2)];
      walk.next();
    }
  });
  return result;
}

Tensor evaluate(const Cast& op, InputTensors inputs) { return inputs[0]->cast(op.element); }

// The kind is already part of the operator's name.
std::string attributes(const Unary& op) {
  const auto& [kind, alpha, beta] = op.activation;
  if (alpha == 0 && beta == 0) return "";
  return "alpha=" + std::to_string(alpha) + " beta=" + std::to_string(beta);
}

std::string attributes(const Where& /*op*/) { return ""; }

std::string attributes(const Cast& op) { return std::string(to_string(op.element)); }

}  // namespace halftone::ir
