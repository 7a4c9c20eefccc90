// SPDX-License-Identifier: Apache-2.0
// Functions of one number: as an operator of their own (Unary) or fused into the operator before.
#pragma once

#include <cstdint>
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
};

/// A function of one number with its parameters; those a kind does not use are zero.
struct Activation {
  ActivationKind kind = ActivationKind::kIdentity;
  float alpha = 0;
  float beta = 0;

  bool operator==(const Activation&) const = default;
};

std::string_view to_string(ActivationKind kind);  ///< "Tanh", "Relu", ...
std::string to_string(const Activation& activation);

/// Whether the function asks a question: as an operator its output is kBool.
constexpr bool is_predicate(ActivationKind kind) {
  return kind == ActivationKind::kNot || kind == ActivationKind::kIsNan ||
         kind == ActivationKind::kIsInf;
}

/// The function's value by the C++ library: the definition that fast versions are held against.
float apply(const Activation& activation, float x);

}  // namespace halftone::ir
