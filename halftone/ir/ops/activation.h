// SPDX-License-Identifier: Apache-2.0
// Functions of one number: as an operator of their own (Unary) or fused into the operator before.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace halftone::ir {

enum class ActivationKind : std::uint8_t {
  kIdentity,
  kRelu,         ///< max(x, 0)
  kReluN1To1,    ///< min(max(x, -1), 1)
  kRelu6,        ///< min(max(x, 0), 6)
  kClip,         ///< min(max(x, alpha), beta)
  kLeakyRelu,    ///< x < 0 ? alpha x : x
  kElu,          ///< x < 0 ? alpha (e^x - 1) : x
  kSelu,         ///< beta (x < 0 ? alpha (e^x - 1) : x)
  kCelu,         ///< max(x, 0) + min(alpha (e^(x / alpha) - 1), 0)
  kThresholded,  ///< x > alpha ? x : 0
  kTanh,
  kSigmoid,      ///< 1 / (1 + e^-x)
  kHardSigmoid,  ///< min(max(alpha x + beta, 0), 1)
  kHardSwish,    ///< x min(max(x / 6 + 1/2, 0), 1)
  kSilu,         ///< x sigmoid(x)
  kGelu,         ///< x (1 + erf(x / sqrt 2)) / 2
  kGeluTanh,     ///< x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
  kSoftplus,     ///< log(1 + e^x)
  kSoftsign,     ///< x / (1 + |x|)
  kSignBit,      ///< 1 where the sign bit is set, else 0 (TFLite's SIGN_BIT)
  kSign,         ///< -1, 0 or 1
  kExp,
  kLog,
  kSqrt,
  kAbs,
  kNeg,
  kReciprocal,
  kSquare,
  kErf,
  kFloor,
  kCeil,
  kRound,  ///< to the nearest integer, ties to even
  kSin,
  kCos,
  kTan,
  kAsin,
  kAcos,
  kAtan,
  kSinh,
  kCosh,
  kAsinh,
  kAcosh,
  kAtanh,
  kNot,    ///< x == 0; of an integer all bits inverted
  kIsNan,  ///< x != x
  kIsInf,  ///< x = infinity where alpha != 0, x = -infinity where beta != 0
  kCount,  ///< the number of kinds; itself none
};

/// A function of one number with its parameters; those a kind does not use are zero.
struct Activation {
  ActivationKind kind = ActivationKind::kIdentity;
  float alpha = 0;
  float beta = 0;

  bool operator==(const Activation&) const = default;
};

/// The interval [low, high].
struct Limits {
  float low = 0;
  float high = 0;
};

/// The value of a function, or its derivative, at x.
using ActivationFunction = float (*)(const Activation& activation, float x);

/// A row of the table of kinds.
struct ActivationTraits {
  ActivationKind kind;
  std::string_view name;     ///< "Tanh", "Relu", ...
  ActivationFunction value;  ///< the definition, the same bits on every processor
  /// One-sided at a kink; null where the derivative is zero wherever it exists.
  ActivationFunction derivative = nullptr;
  /// The limits, if the function is min(max(x, low), high) with fixed ones. See limits_of().
  std::optional<Limits> limits = std::nullopt;
  bool is_predicate = false;    ///< as an operator its output is kBool
  bool takes_integers = false;  ///< as an operator it is defined on integers too
  /// Whether it suppresses about half of its inputs, as Relu does.
  bool is_like_relu = false;
};

inline constexpr auto kNumActivationKinds = static_cast<std::size_t>(ActivationKind::kCount);

/// Whether a table has one row for each kind of its enumeration, in their order. Tables assert
/// this, so that a kind without a row does not compile.
template <typename Row, std::size_t size>
constexpr bool has_all_kinds(const Row (&table)[size]) {
  using Kind = decltype(Row::kind);
  for (std::size_t i = 0; i < size; ++i) {
    if (table[i].kind != static_cast<Kind>(i)) return false;
  }
  return size == static_cast<std::size_t>(Kind::kCount);
}

/// One row for each kind, in their order.
std::span<const ActivationTraits, kNumActivationKinds> activation_table();

/// @pre the kind is one of the table
const ActivationTraits& traits_of(ActivationKind kind);

/// The name; "unknown" for a number that is no kind.
std::string_view to_string(ActivationKind kind);
std::string to_string(const Activation& activation);

/// Whether the function is a predicate: as an operator its output is kBool.
inline bool is_predicate(ActivationKind kind) { return traits_of(kind).is_predicate; }

/// Whether the function has a derivative that is not zero everywhere.
inline bool is_differentiable(const Activation& activation) {
  return traits_of(activation.kind).derivative != nullptr;
}

/// The limits of min(max(x, low), high): of Identity, Relu, ReluN1To1, Relu6, and of Clip if
/// alpha <= beta. Nothing for any other function.
std::optional<Limits> limits_of(const Activation& activation);

/// The value of the function: the definition that fast versions are held against.
float apply(const Activation& activation, float x);

}  // namespace halftone::ir
