// SPDX-License-Identifier: Apache-2.0
// Functions of two numbers, the operators of Binary, and what is known about each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace halftone::ir {

/// The order carries no meaning; ask traits_of().
enum class BinaryKind : std::uint8_t {
  kAdd,
  kSub,
  kMul,
  kDiv,  ///< of integers: truncates; 0 for a divisor of 0
  kMax,
  kMin,
  kPow,
  kPRelu,       ///< a < 0 ? a b : a
  kMod,         ///< a - b floor(a / b), with the sign of b; of integers 0 for b = 0
  kFmod,        ///< a - b trunc(a / b), with the sign of a; of integers 0 for b = 0
  kShiftLeft,   ///< by b bits; all bits are shifted out for b < 0 or b >= their number
  kShiftRight,  ///< likewise; fills with the sign of signed integers, otherwise with zeros
  kAnd,         ///< of booleans, or bit by bit of integers
  kOr,
  kXor,
  kEqual,
  kLess,
  kLessOrEqual,
  kGreater,
  kGreaterOrEqual,
  kCount,  ///< the number of kinds; itself none
};

/// The partial derivatives of f(a, b).
struct Partials {
  float a = 0;
  float b = 0;
};

/// A row of the table of kinds. Every kind takes integers.
struct BinaryTraits {
  BinaryKind kind;
  std::string_view name;  ///< "Add", "Sub", ...
  /// The value of one pair of float32, the same bits on every processor; comparisons give 0 or 1.
  /// Null if the kind takes no float32.
  float (*value)(float a, float b) = nullptr;
  /// One-sided at a kink; null without a derivative.
  Partials (*partials)(float a, float b) = nullptr;
  /// The constant e with f(a, e) = a, of kinds that scale or shift a.
  std::optional<float> neutral = std::nullopt;
  /// f(a, b) = f(b, a), bit for bit. Max and Min give the first of +0 and -0.
  bool commutes = false;
  bool selects = false;         ///< the value is a or b
  bool compares = false;        ///< as an operator its output is kBool
  bool takes_booleans = false;  ///< as an operator it is defined on booleans too
};

inline constexpr auto kNumBinaryKinds = static_cast<std::size_t>(BinaryKind::kCount);

/// One row for each kind, in their order.
std::span<const BinaryTraits, kNumBinaryKinds> binary_table();

/// @pre the kind is one of the table
const BinaryTraits& traits_of(BinaryKind kind);

/// The name; "unknown" for a number that is no kind.
std::string_view to_string(BinaryKind kind);

/// Whether the kind compares: as an operator its output is kBool.
inline bool is_comparison(BinaryKind kind) { return traits_of(kind).compares; }

/// Whether the kind has partial derivatives.
inline bool is_differentiable(BinaryKind kind) { return traits_of(kind).partials != nullptr; }

/// The value of one pair of float32. @pre the kind takes float32
inline float apply(BinaryKind kind, float a, float b) { return traits_of(kind).value(a, b); }

}  // namespace halftone::ir
