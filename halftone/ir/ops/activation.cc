// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/activation.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace halftone::ir {

std::string_view to_string(ActivationKind kind) {
  switch (kind) {
    case ActivationKind::kIdentity:
      return "Identity";
    case ActivationKind::kRelu:
      return "Relu";
    case ActivationKind::kReluN1To1:
      return "ReluN1To1";
    case ActivationKind::kRelu6:
      return "Relu6";
    case ActivationKind::kClip:
      return "Clip";
    case ActivationKind::kLeakyRelu:
      return "LeakyRelu";
    case ActivationKind::kElu:
      return "Elu";
    case ActivationKind::kSelu:
      return "Selu";
    case ActivationKind::kCelu:
      return "Celu";
    case ActivationKind::kThresholded:
      return "ThresholdedRelu";
    case ActivationKind::kTanh:
      return "Tanh";
    case ActivationKind::kSigmoid:
      return "Sigmoid";
    case ActivationKind::kHardSigmoid:
      return "HardSigmoid";
    case ActivationKind::kHardSwish:
      return "HardSwish";
    case ActivationKind::kSilu:
      return "Silu";
    case ActivationKind::kGelu:
      return "Gelu";
    case ActivationKind::kGeluTanh:
      return "GeluTanh";
    case ActivationKind::kSoftplus:
      return "Softplus";
    case ActivationKind::kSoftsign:
      return "Softsign";
    case ActivationKind::kSignBit:
      return "SignBit";
    case ActivationKind::kSign:
      return "Sign";
    case ActivationKind::kExp:
      return "Exp";
    case ActivationKind::kLog:
      return "Log";
    case ActivationKind::kSqrt:
      return "Sqrt";
    case ActivationKind::kAbs:
      return "Abs";
    case ActivationKind::kNeg:
      return "Neg";
    case ActivationKind::kReciprocal:
      return "Reciprocal";
    case ActivationKind::kSquare:
      return "Square";
    case ActivationKind::kErf:
      return "Erf";
    case ActivationKind::kFloor:
      return "Floor";
    case ActivationKind::kCeil:
      return "Ceil";
    case ActivationKind::kRound:
      return "Round";
    case ActivationKind::kSin:
      return "Sin";
    case ActivationKind::kCos:
      return "Cos";
    case ActivationKind::kTan:
      return "Tan";
    case ActivationKind::kAsin:
      return "Asin";
    case ActivationKind::kAcos:
      return "Acos";
    case ActivationKind::kAtan:
      return "Atan";
    case ActivationKind::kSinh:
      return "Sinh";
    case ActivationKind::kCosh:
      return "Cosh";
    case ActivationKind::kAsinh:
      return "Asinh";
    case ActivationKind::kAcosh:
      return "Acosh";
    case ActivationKind::kAtanh:
      return "Atanh";
    case ActivationKind::kNot:
      return "Not";
    case ActivationKind::kIsNan:
      return "IsNan";
    case ActivationKind::kIsInf:
      return "IsInf";
  }
  return "unknown";
}

std::string to_string(const Activation& activation) {
  std::string text(to_string(activation.kind));
  if (activation.alpha != 0 || activation.beta != 0) {
    text.append("(").append(std::to_string(activation.alpha)).append(", ");
    text.append(std::to_string(activation.beta)).append(")");
  }
  return text;
}

float apply(const Activation& activation, float x) {
  const float alpha = activation.alpha;
  const float beta = activation.beta;
  const auto clip = [](float value, float low, float high) {
    return std::min(std::max(value, low), high);
  };
  const auto sigmoid = [](float value) { return 1.0F / (1.0F + std::exp(-value)); };
  // The limit where the factor vanishes and x is -infinity.
  const auto x_times = [x](float factor) {
    return factor == 0 ? std::copysign(0.0F, x) : x * factor;
  };
  switch (activation.kind) {
    case ActivationKind::kIdentity:
      return x;
    case ActivationKind::kRelu:
      return std::max(x, 0.0F);
    case ActivationKind::kReluN1To1:
      return clip(x, -1, 1);
    case ActivationKind::kRelu6:
      return clip(x, 0, 6);
    case ActivationKind::kClip:
      return clip(x, alpha, beta);
    case ActivationKind::kLeakyRelu:
      return x < 0 ? alpha * x : x;
    case ActivationKind::kElu:
      return x < 0 ? alpha * std::expm1(x) : x;
    case ActivationKind::kSelu:
      return beta * (x < 0 ? alpha * std::expm1(x) : x);
    case ActivationKind::kCelu:
      return std::max(x, 0.0F) + std::min(alpha * std::expm1(x / alpha), 0.0F);
    case ActivationKind::kThresholded:
      return x > alpha ? x : 0;
    case ActivationKind::kTanh:
      return std::tanh(x);
    case ActivationKind::kSigmoid:
      return sigmoid(x);
    case ActivationKind::kHardSigmoid:
      return clip(alpha * x + beta, 0, 1);
    case ActivationKind::kHardSwish:
      return x_times(clip(x / 6 + 0.5F, 0, 1));
    case ActivationKind::kSilu:
      return x_times(sigmoid(x));
    case ActivationKind::kGelu:
      return x_times(std::erfc(-x / std::numbers::sqrt2_v<float>) / 2);
    case ActivationKind::kGeluTanh:
      return x_times(sigmoid(1.595769122F * (x + 0.044715F * x * x * x)));
    case ActivationKind::kSoftplus:
      return std::max(x, 0.0F) + std::log1p(std::exp(-std::abs(x)));
    case ActivationKind::kSoftsign:
      return x / (1 + std::abs(x));
    case ActivationKind::kSignBit:
      return std::signbit(x) ? 1 : 0;
    case ActivationKind::kSign:
      return static_cast<float>((x > 0) - (x < 0));
    case ActivationKind::kExp:
      return std::exp(x);
    case ActivationKind::kLog:
      return std::log(x);
    case ActivationKind::kSqrt:
      return std::sqrt(x);
    case ActivationKind::kAbs:
      return std::abs(x);
    case ActivationKind::kNeg:
      return -x;
    case ActivationKind::kReciprocal:
      return 1 / x;
    case ActivationKind::kSquare:
      return x * x;
    case ActivationKind::kErf:
      return std::erf(x);
    case ActivationKind::kFloor:
      return std::floor(x);
    case ActivationKind::kCeil:
      return std::ceil(x);
    case ActivationKind::kRound:
      return std::nearbyint(x);
    case ActivationKind::kSin:
      return std::sin(x);
    case ActivationKind::kCos:
      return std::cos(x);
    case ActivationKind::kTan:
      return std::tan(x);
    case ActivationKind::kAsin:
      return std::asin(x);
    case ActivationKind::kAcos:
      return std::acos(x);
    case ActivationKind::kAtan:
      return std::atan(x);
    case ActivationKind::kSinh:
      return std::sinh(x);
    case ActivationKind::kCosh:
      return std::cosh(x);
    case ActivationKind::kAsinh:
      return std::asinh(x);
    case ActivationKind::kAcosh:
      return std::acosh(x);
    case ActivationKind::kAtanh:
      return std::atanh(x);
    case ActivationKind::kNot:
      return x == 0 ? 1 : 0;
    case ActivationKind::kIsNan:
      return std::isnan(x) ? 1 : 0;
    case ActivationKind::kIsInf:
      return std::isinf(x) && (x > 0 ? alpha : beta) != 0 ? 1 : 0;
  }
  return x;
}

}  // namespace halftone::ir
