// SPDX-License-Identifier: Apache-2.0
// Binary of elementwise.h.
#include <algorithm>
#include <cmath>
#include <limits>
#include <type_traits>

#include "halftone/base/elementary.h"
#include "halftone/ir/element.h"
#include "halftone/ir/ops/elementwise.h"
#include "halftone/ir/strides.h"

namespace halftone::ir {
namespace {

/// x to a power >= 0 by squaring, wrapping around; for negative powers, 1 / x^n truncated.
template <typename T>
T integer_power(T x, T n) {
  if (n < T{0}) {
    if (x == T{1}) return 1;
    if (std::is_signed_v<T> && x == static_cast<T>(-1)) return n % 2 == 0 ? T{1} : x;
    return 0;
  }
  auto base = static_cast<std::uint64_t>(x);
  std::uint64_t result = 1;
  for (auto rest = static_cast<std::uint64_t>(n); rest != 0; rest >>= 1) {
    if ((rest & 1) != 0) result *= base;
    base *= base;
  }
  return static_cast<T>(result);
}

template <typename T>
T quotient(T a, T b) {
  if (b == T{0}) return 0;
  if (std::is_signed_v<T> && b == static_cast<T>(-1)) {
    return static_cast<T>(std::uint64_t{0} - static_cast<std::uint64_t>(a));
  }
  return static_cast<T>(a / b);
}

template <typename T>
T remainder(T a, T b) {
  if (b == T{0} || (std::is_signed_v<T> && b == static_cast<T>(-1))) return 0;
  return static_cast<T>(a % b);
}

template <typename T>
T modulo(T a, T b) {
  const T rest = remainder(a, b);
  return rest != T{0} && (rest < T{0}) != (b < T{0}) ? static_cast<T>(rest + b) : rest;
}

template <typename T>
T shifted(BinaryKind kind, T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr auto kBits = static_cast<std::uint64_t>(std::numeric_limits<Unsigned>::digits);
  const auto count = static_cast<std::uint64_t>(b);
  const bool fills_sign = kind == BinaryKind::kShiftRight && a < T{0};
  if (b < T{0} || count >= kBits) return fills_sign ? static_cast<T>(-1) : T{0};
  if (fills_sign) return static_cast<T>(a >> count);
  const std::uint64_t bits = static_cast<Unsigned>(a);
  return static_cast<T>(kind == BinaryKind::kShiftLeft ? bits << count : bits >> count);
}

/// And, Or, Xor and shifts.
template <typename T>
T apply_to_bits(BinaryKind kind, T a, T b) {
  if (kind == BinaryKind::kAnd) return static_cast<T>(a & b);
  if (kind == BinaryKind::kOr) return static_cast<T>(a | b);
  if (kind == BinaryKind::kXor) return static_cast<T>(a ^ b);
  return shifted(kind, a, b);
}

/// a^b, computed in float64 and rounded once.
float power(float a, float b) {
  if (b == 2) return a * a;
  return static_cast<float>(elementary::pow(a, b));
}

/// The result for one pair of integers.
template <typename T>
T apply_integer(BinaryKind kind, T a, T b) {
  const auto wide_a = static_cast<std::uint64_t>(a);
  const auto wide_b = static_cast<std::uint64_t>(b);
  switch (kind) {
    case BinaryKind::kAdd:
      return static_cast<T>(wide_a + wide_b);
    case BinaryKind::kSub:
      return static_cast<T>(wide_a - wide_b);
    case BinaryKind::kMul:
      return static_cast<T>(wide_a * wide_b);
    case BinaryKind::kDiv:
      return quotient(a, b);
    case BinaryKind::kMax:
      return std::max(a, b);
    case BinaryKind::kMin:
      return std::min(a, b);
    case BinaryKind::kPow:
      return integer_power(a, b);
    case BinaryKind::kPRelu:
      return a < T{0} ? static_cast<T>(wide_a * wide_b) : a;
    case BinaryKind::kMod:
      return modulo(a, b);
    case BinaryKind::kFmod:
      return remainder(a, b);
    case BinaryKind::kShiftLeft:
    case BinaryKind::kShiftRight:
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
    case BinaryKind::kXor:
      return apply_to_bits(kind, a, b);
    case BinaryKind::kEqual:
    case BinaryKind::kLess:
    case BinaryKind::kLessOrEqual:
    case BinaryKind::kGreater:
    case BinaryKind::kGreaterOrEqual:
      break;  // handled by compare()
  }
  return 0;
}

template <typename T>
bool compare(BinaryKind kind, T a, T b) {
  switch (kind) {
    case BinaryKind::kEqual:
      return a == b;
    case BinaryKind::kLess:
      return a < b;
    case BinaryKind::kLessOrEqual:
      return a <= b;
    case BinaryKind::kGreater:
      return a > b;
    case BinaryKind::kGreaterOrEqual:
      return a >= b;
    case BinaryKind::kAdd:
    case BinaryKind::kSub:
    case BinaryKind::kMul:
    case BinaryKind::kDiv:
    case BinaryKind::kMax:
    case BinaryKind::kMin:
    case BinaryKind::kPow:
    case BinaryKind::kPRelu:
    case BinaryKind::kMod:
    case BinaryKind::kFmod:
    case BinaryKind::kShiftLeft:
    case BinaryKind::kShiftRight:
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
    case BinaryKind::kXor:
      break;
  }
  return false;
}

/// y = function(a, b) for every pair.
template <typename T, typename Result, typename Function>
void for_pairs(InputTensors inputs, Tensor& result, Function&& function) {
  const Shape& shape = result.shape();
  StridedWalk<2> walk(shape, {broadcast_strides(inputs[0]->shape(), shape),
                              broadcast_strides(inputs[1]->shape(), shape)});
  const auto a = inputs[0]->as<T>();
  const auto b = inputs[1]->as<T>();
  for (Result& y : result.as<Result>()) {
    y = function(a[walk.offset(0)], b[walk.offset(1)]);
    walk.next();
  }
}

bool is_bitwise(BinaryKind kind) {
  return kind == BinaryKind::kAnd || kind == BinaryKind::kOr || kind == BinaryKind::kXor;
}

/// Whether a kind is defined on elements of a type.
bool takes(BinaryKind kind, ElementType element) {
  if (kind == BinaryKind::kEqual) return true;
  if (element == ElementType::kBool) return is_bitwise(kind);
  const bool wants_integers =
      is_bitwise(kind) || kind == BinaryKind::kShiftLeft || kind == BinaryKind::kShiftRight;
  return is_integer(element) || !wants_integers;
}

}  // namespace

std::string_view to_string(BinaryKind kind) {
  static constexpr std::string_view kNames[] = {
      "Add",   "Sub",   "Mul",  "Div",         "Max",        "Min",           "Pow",
      "PRelu", "Mod",   "Fmod", "ShiftLeft",   "ShiftRight", "And",           "Or",
      "Xor",   "Equal", "Less", "LessOrEqual", "Greater",    "GreaterOrEqual"};
  const auto i = static_cast<std::size_t>(kind);
  return i < std::size(kNames) ? kNames[i] : "unknown";
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
      return elementary::larger(a, b);
    case BinaryKind::kMin:
      return elementary::smaller(a, b);
    case BinaryKind::kPow:
      return power(a, b);
    case BinaryKind::kPRelu:
      return a < 0 ? a * b : a;
    case BinaryKind::kMod: {
      const float rest = std::fmod(a, b);
      return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    }
    case BinaryKind::kFmod:
      return std::fmod(a, b);
    case BinaryKind::kEqual:
    case BinaryKind::kLess:
    case BinaryKind::kLessOrEqual:
    case BinaryKind::kGreater:
    case BinaryKind::kGreaterOrEqual:
      return compare(kind, a, b) ? 1 : 0;
    case BinaryKind::kShiftLeft:
    case BinaryKind::kShiftRight:
    case BinaryKind::kAnd:
    case BinaryKind::kOr:
    case BinaryKind::kXor:
      break;  // integers only
  }
  return 0;
}

ValueType infer_types(const Binary& op, InputTypes inputs) {
  require_dense(inputs, 0);
  require_dense(inputs, 1);
  const ElementType element = inputs[0]->encoding.element;
  require(inputs[1]->encoding.element == element, "operands " + inputs[0]->to_string() + " and " +
                                                      inputs[1]->to_string() + " differ in type");
  require(takes(op.kind, element),
          std::string(to_string(op.kind)) + " does not take " + std::string(to_string(element)));
  const ElementType result = is_comparison(op.kind) ? ElementType::kBool : element;
  require(op.activation == Activation{} || result == ElementType::kFloat32,
          "expected no activation for " + std::string(to_string(result)));
  return dense_type(result, broadcast(inputs[0]->shape, inputs[1]->shape));
}

Tensor evaluate(const Binary& op, InputTensors inputs) {
  Tensor result = output_tensor(op, inputs);
  with_element(inputs[0]->element(), [&](auto zero) {
    using T = decltype(zero);
    if (is_comparison(op.kind)) {
      for_pairs<T, std::uint8_t>(inputs, result, [&](T a, T b) {
        return static_cast<std::uint8_t>(compare(op.kind, a, b) ? 1 : 0);
      });
    } else if constexpr (std::is_same_v<T, float>) {
      for_pairs<T, T>(inputs, result,
                      [&](T a, T b) { return apply(op.activation, apply(op.kind, a, b)); });
    } else {
      for_pairs<T, T>(inputs, result, [&](T a, T b) { return apply_integer<T>(op.kind, a, b); });
    }
  });
  return result;
}

std::string attributes(const Binary& op) {
  return op.activation == Activation{} ? "" : "activation=" + to_string(op.activation);
}

}  // namespace halftone::ir
