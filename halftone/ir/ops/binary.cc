// SPDX-License-Identifier: Apache-2.0
// The table of binary operators, and Binary of elementwise.h.
#include "halftone/ir/ops/binary.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <type_traits>
#include <utility>

#include "halftone/base/elementary.h"
#include "halftone/ir/element.h"
#include "halftone/ir/ops/binary_functions.h"
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

/// a shifted by b bits. A shift to the right fills with the sign of a.
template <typename T, bool left>
T shifted(T a, T b) {
  using Unsigned = std::make_unsigned_t<T>;
  constexpr auto kBits = static_cast<std::uint64_t>(std::numeric_limits<Unsigned>::digits);
  const auto count = static_cast<std::uint64_t>(b);
  const bool fills_sign = !left && a < T{0};
  if (b < T{0} || count >= kBits) return fills_sign ? static_cast<T>(-1) : T{0};
  if (fills_sign) return static_cast<T>(a >> count);
  const std::uint64_t bits = static_cast<Unsigned>(a);
  return static_cast<T>(left ? bits << count : bits >> count);
}

/// 1 where the relation holds, else 0.
template <typename Relation, typename T>
T truth(T a, T b) {
  return Relation{}(a, b) ? T{1} : T{0};
}

/// A kind on integers of one type, which wrap around.
template <typename T>
struct IntegerFunction {
  BinaryKind kind;
  T (*value)(T a, T b);
};

template <typename T>
constexpr IntegerFunction<T> kIntegerTable[] = {
    {BinaryKind::kAdd, add_pair<T>},
    {BinaryKind::kSub, subtract_pair<T>},
    {BinaryKind::kMul, multiply_pair<T>},
    {BinaryKind::kDiv, quotient<T>},
    {BinaryKind::kMax, [](T a, T b) { return std::max(a, b); }},
    {BinaryKind::kMin, [](T a, T b) { return std::min(a, b); }},
    {BinaryKind::kPow, integer_power<T>},
    {BinaryKind::kPRelu, prelu_pair<T>},
    {BinaryKind::kMod, modulo<T>},
    {BinaryKind::kFmod, remainder<T>},
    {BinaryKind::kShiftLeft, shifted<T, true>},
    {BinaryKind::kShiftRight, shifted<T, false>},
    {BinaryKind::kAnd, [](T a, T b) { return static_cast<T>(a & b); }},
    {BinaryKind::kOr, [](T a, T b) { return static_cast<T>(a | b); }},
    {BinaryKind::kXor, [](T a, T b) { return static_cast<T>(a ^ b); }},
    {BinaryKind::kEqual, truth<std::equal_to<>, T>},
    {BinaryKind::kLess, truth<std::less<>, T>},
    {BinaryKind::kLessOrEqual, truth<std::less_equal<>, T>},
    {BinaryKind::kGreater, truth<std::greater<>, T>},
    {BinaryKind::kGreaterOrEqual, truth<std::greater_equal<>, T>},
};

/// a^b, computed in float64 and rounded once.
float power(float a, float b) {
  if (b == 2) return a * a;
  return static_cast<float>(elementary::pow(a, b));
}

/// With respect to the exponent it is 0 where the base is not positive.
Partials power_partials(float a, float b) {
  const double log = a > 0 ? elementary::log(a) : 0;
  return {b * power(a, b - 1), static_cast<float>(log == 0 ? 0 : power(a, b) * log)};
}

float floored_modulo(float a, float b) {
  const float rest = std::fmod(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

constexpr BinaryTraits kBinaryTable[] = {
    {.kind = BinaryKind::kAdd,
     .name = "Add",
     .value = add_pair<float>,
     .partials =
         [](float, float) {
           return Partials{1, 1};
         },
     .neutral = 0,
     .commutes = true},
    {.kind = BinaryKind::kSub,
     .name = "Sub",
     .value = subtract_pair<float>,
     .partials =
         [](float, float) {
           return Partials{1, -1};
         },
     .neutral = 0},
    {.kind = BinaryKind::kMul,
     .name = "Mul",
     .value = multiply_pair<float>,
     .partials =
         [](float a, float b) {
           return Partials{b, a};
         },
     .neutral = 1,
     .commutes = true},
    {.kind = BinaryKind::kDiv,
     .name = "Div",
     .value = divide_pair,
     .partials =
         [](float a, float b) {
           return Partials{1 / b, -a / (b * b)};
         },
     .neutral = 1},
    {.kind = BinaryKind::kMax,
     .name = "Max",
     .value = elementary::larger<float>,
     .partials =
         [](float a, float b) {
           return a >= b ? Partials{1, 0} : Partials{0, 1};
         },
     .selects = true},
    {.kind = BinaryKind::kMin,
     .name = "Min",
     .value = elementary::smaller<float>,
     .partials =
         [](float a, float b) {
           return a <= b ? Partials{1, 0} : Partials{0, 1};
         },
     .selects = true},
    {.kind = BinaryKind::kPow, .name = "Pow", .value = power, .partials = power_partials},
    {.kind = BinaryKind::kPRelu,
     .name = "PRelu",
     .value = prelu_pair<float>,
     .partials =
         [](float a, float b) {
           return a < 0 ? Partials{b, a} : Partials{1, 0};
         }},
    {.kind = BinaryKind::kMod,
     .name = "Mod",
     .value = floored_modulo,
     .partials =
         [](float a, float b) {
           return Partials{1, -std::floor(a / b)};
         }},
    {.kind = BinaryKind::kFmod,
     .name = "Fmod",
     .value = [](float a, float b) { return std::fmod(a, b); },
     .partials =
         [](float a, float b) {
           return Partials{1, -std::trunc(a / b)};
         }},
    {.kind = BinaryKind::kShiftLeft, .name = "ShiftLeft"},
    {.kind = BinaryKind::kShiftRight, .name = "ShiftRight"},
    {.kind = BinaryKind::kAnd, .name = "And", .commutes = true, .takes_booleans = true},
    {.kind = BinaryKind::kOr, .name = "Or", .commutes = true, .takes_booleans = true},
    {.kind = BinaryKind::kXor, .name = "Xor", .commutes = true, .takes_booleans = true},
    {.kind = BinaryKind::kEqual,
     .name = "Equal",
     .value = truth<std::equal_to<>, float>,
     .commutes = true,
     .compares = true,
     .takes_booleans = true},
    {.kind = BinaryKind::kLess,
     .name = "Less",
     .value = truth<std::less<>, float>,
     .compares = true},
    {.kind = BinaryKind::kLessOrEqual,
     .name = "LessOrEqual",
     .value = truth<std::less_equal<>, float>,
     .compares = true},
    {.kind = BinaryKind::kGreater,
     .name = "Greater",
     .value = truth<std::greater<>, float>,
     .compares = true},
    {.kind = BinaryKind::kGreaterOrEqual,
     .name = "GreaterOrEqual",
     .value = truth<std::greater_equal<>, float>,
     .compares = true},
};

static_assert(has_all_kinds(kBinaryTable));

/// The value of a kind on pairs of elements of a type. @pre takes(kind, that type)
template <typename T>
T (*function_of(BinaryKind kind))
(T, T) {
  if constexpr (std::is_same_v<T, float>) {
    return traits_of(kind).value;
  } else {
    static_assert(has_all_kinds(kIntegerTable<T>));
    return kIntegerTable<T>[static_cast<std::size_t>(kind)].value;
  }
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

/// Whether a kind is defined on elements of a type.
bool takes(BinaryKind kind, ElementType element) {
  const BinaryTraits& traits = traits_of(kind);
  if (element == ElementType::kBool) return traits.takes_booleans;
  return is_integer(element) || traits.value != nullptr;
}

}  // namespace

std::span<const BinaryTraits, kNumBinaryKinds> binary_table() { return kBinaryTable; }

const BinaryTraits& traits_of(BinaryKind kind) {
  return kBinaryTable[static_cast<std::size_t>(kind)];
}

std::string_view to_string(BinaryKind kind) {
  return static_cast<std::size_t>(kind) < std::size(kBinaryTable) ? traits_of(kind).name
                                                                  : "unknown";
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
    const auto function = function_of<T>(op.kind);
    if (is_comparison(op.kind)) {
      for_pairs<T, std::uint8_t>(
          inputs, result, [&](T a, T b) { return static_cast<std::uint8_t>(function(a, b)); });
    } else if constexpr (std::is_same_v<T, float>) {
      for_pairs<T, T>(inputs, result,
                      [&](T a, T b) { return apply(op.activation, function(a, b)); });
    } else {
      for_pairs<T, T>(inputs, result, function);
    }
  });
  return result;
}

std::string attributes(const Binary& op) {
  return op.activation == Activation{} ? "" : "activation=" + to_string(op.activation);
}

}  // namespace halftone::ir
