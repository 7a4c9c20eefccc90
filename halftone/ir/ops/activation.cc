// SPDX-License-Identifier: Apache-2.0
// The table of activations. Exponentials and their like are computed in float64 and rounded once;
// the other functions are a few operations in float32.
#include "halftone/ir/ops/activation.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>

#include "halftone/base/elementary.h"

namespace halftone::ir {
namespace {

using Kind = ActivationKind;
using F = const Activation&;

constexpr float kUnlimited = std::numeric_limits<float>::infinity();

/// A function of float64, rounded to float32.
template <double (*function)(double)>
float rounded(F /*f*/, float x) {
  return static_cast<float>(function(x));
}

/// The same with another sign.
template <double (*function)(double)>
float negated(F /*f*/, float x) {
  return static_cast<float>(-function(x));
}

float identity(F /*f*/, float x) { return x; }
float one(F /*f*/, float /*x*/) { return 1; }

double sigmoid(double x) { return 1 / (1 + elementary::exp(-x)); }
double sigmoid_slope(double x) { return sigmoid(x) * sigmoid(-x); }
double tanh_slope(double x) {
  const double y = elementary::tanh(x);
  return (1 - y) * (1 + y);
}
double softplus(double x) {
  return std::max(x, 0.0) + elementary::log1p(elementary::exp(-std::abs(x)));
}

float clip(float x, float low, float high) { return std::min(std::max(x, low), high); }
template <int low, int high>
float clipped_value(F /*f*/, float x) {
  return clip(x, low, high);
}
template <int low, int high>
float clipped_slope(F /*f*/, float x) {
  return x > low && x < high ? 1.0F : 0.0F;
}

/// x factor, and its limit where the factor vanishes and x is -infinity.
float times(float x, double factor) {
  return factor == 0 ? std::copysign(0.0F, x) : static_cast<float>(x * factor);
}

/// scale (x < 0 ? alpha (e^x - 1) : x) and its derivative.
float elu(float alpha, double scale, float x) {
  return static_cast<float>(scale * (x < 0 ? alpha * elementary::expm1(x) : double{x}));
}
float elu_slope(float alpha, double scale, float x) {
  return static_cast<float>(scale * (x < 0 ? alpha * elementary::exp(x) : 1.0));
}

float celu(F f, float x) {
  const double below = f.alpha * elementary::expm1(double{x} / f.alpha);
  return static_cast<float>(std::max(double{x}, 0.0) + std::min(below, 0.0));
}
float celu_slope(F f, float x) {
  // For either sign of alpha, the second term is below 0 where x is.
  return static_cast<float>(x < 0 ? elementary::exp(double{x} / f.alpha) : 1.0);
}

/// The normal distribution: its integral up to x.
double normal_share(double x) { return elementary::erfc(-x * (std::numbers::sqrt2 / 2)) / 2; }
float gelu_slope(F /*f*/, float x) {
  const double density =
      elementary::exp(-double{x} * x / 2) * std::numbers::inv_sqrtpi / std::numbers::sqrt2;
  return static_cast<float>(normal_share(x) + x * density);
}

// (1 + tanh(v)) / 2 = sigmoid(2 v), v = sqrt(2 / pi) (x + c x^3)
constexpr double kTwiceGeluScale = 2 * std::numbers::sqrt2 * std::numbers::inv_sqrtpi;
constexpr double kGeluCubic = 0.044715;
double gelu_argument(double x) { return kTwiceGeluScale * (x + kGeluCubic * x * x * x); }
float gelu_tanh_slope(F /*f*/, float x) {
  const double v = gelu_argument(x);
  const double inner = kTwiceGeluScale * (1 + 3 * kGeluCubic * x * x);
  return static_cast<float>(sigmoid(v) + x * sigmoid_slope(v) * inner);
}

float silu_slope(F /*f*/, float x) { return static_cast<float>(sigmoid(x) + x * sigmoid_slope(x)); }

float hard_sigmoid_slope(F f, float x) {
  const float y = f.alpha * x + f.beta;
  return y > 0 && y < 1 ? f.alpha : 0.0F;
}

double erf_slope(double x) { return 2 * std::numbers::inv_sqrtpi * elementary::exp(-x * x); }
double tan_slope(double x) {
  const double y = elementary::tan(x);
  return 1 + y * y;
}
double asin_slope(double x) { return 1 / std::sqrt((1 - x) * (1 + x)); }
double atan_slope(double x) { return 1 / (1 + x * x); }
double asinh_slope(double x) { return 1 / std::sqrt(1 + x * x); }
double acosh_slope(double x) { return 1 / std::sqrt((x - 1) * (x + 1)); }
double atanh_slope(double x) { return 1 / ((1 - x) * (1 + x)); }

constexpr ActivationTraits kTable[] = {
    {.kind = Kind::kIdentity,
     .name = "Identity",
     .value = identity,
     .derivative = one,
     .limits = Limits{-kUnlimited, kUnlimited}},
    {.kind = Kind::kRelu,
     .name = "Relu",
     .value = [](F, float x) { return std::max(x, 0.0F); },
     .derivative = [](F, float x) { return x > 0 ? 1.0F : 0.0F; },
     .limits = Limits{0, kUnlimited},
     .is_like_relu = true},
    {.kind = Kind::kReluN1To1,
     .name = "ReluN1To1",
     .value = clipped_value<-1, 1>,
     .derivative = clipped_slope<-1, 1>,
     .limits = Limits{-1, 1}},
    {.kind = Kind::kRelu6,
     .name = "Relu6",
     .value = clipped_value<0, 6>,
     .derivative = clipped_slope<0, 6>,
     .limits = Limits{0, 6},
     .is_like_relu = true},
    {.kind = Kind::kClip,
     .name = "Clip",
     .value = [](F f, float x) { return clip(x, f.alpha, f.beta); },
     .derivative = [](F f, float x) { return x > f.alpha && x < f.beta ? 1.0F : 0.0F; }},
    {.kind = Kind::kLeakyRelu,
     .name = "LeakyRelu",
     .value = [](F f, float x) { return x < 0 ? f.alpha * x : x; },
     .derivative = [](F f, float x) { return x < 0 ? f.alpha : 1.0F; },
     .is_like_relu = true},
    {.kind = Kind::kElu,
     .name = "Elu",
     .value = [](F f, float x) { return elu(f.alpha, 1, x); },
     .derivative = [](F f, float x) { return elu_slope(f.alpha, 1, x); },
     .is_like_relu = true},
    {.kind = Kind::kSelu,
     .name = "Selu",
     .value = [](F f, float x) { return elu(f.alpha, f.beta, x); },
     .derivative = [](F f, float x) { return elu_slope(f.alpha, f.beta, x); }},
    {.kind = Kind::kCelu,
     .name = "Celu",
     .value = celu,
     .derivative = celu_slope,
     .is_like_relu = true},
    {.kind = Kind::kThresholded,
     .name = "ThresholdedRelu",
     .value = [](F f, float x) { return x > f.alpha ? x : 0.0F; },
     .derivative = [](F f, float x) { return x > f.alpha ? 1.0F : 0.0F; }},
    {.kind = Kind::kTanh,
     .name = "Tanh",
     .value = rounded<elementary::tanh>,
     .derivative = rounded<tanh_slope>},
    {.kind = Kind::kSigmoid,
     .name = "Sigmoid",
     .value = rounded<sigmoid>,
     .derivative = rounded<sigmoid_slope>},
    {.kind = Kind::kHardSigmoid,
     .name = "HardSigmoid",
     .value = [](F f, float x) { return clip(f.alpha * x + f.beta, 0, 1); },
     .derivative = hard_sigmoid_slope},
    {.kind = Kind::kHardSwish,
     .name = "HardSwish",
     .value = [](F, float x) { return times(x, clip(x / 6 + 0.5F, 0, 1)); },
     .derivative = [](F, float x) { return x < -3  ? 0.0F
                                           : x > 3 ? 1.0F
                                                   : x / 3 + 0.5F; },
     .is_like_relu = true},
    {.kind = Kind::kSilu,
     .name = "Silu",
     .value = [](F, float x) { return times(x, sigmoid(x)); },
     .derivative = silu_slope,
     .is_like_relu = true},
    {.kind = Kind::kGelu,
     .name = "Gelu",
     .value = [](F, float x) { return times(x, normal_share(x)); },
     .derivative = gelu_slope,
     .is_like_relu = true},
    {.kind = Kind::kGeluTanh,
     .name = "GeluTanh",
     .value = [](F, float x) { return times(x, sigmoid(gelu_argument(x))); },
     .derivative = gelu_tanh_slope,
     .is_like_relu = true},
    {.kind = Kind::kSoftplus,
     .name = "Softplus",
     .value = rounded<softplus>,
     .derivative = rounded<sigmoid>,
     .is_like_relu = true},
    {.kind = Kind::kSoftsign,
     .name = "Softsign",
     .value = [](F, float x) { return x / (1 + std::abs(x)); },
     .derivative = [](F, float x) { return 1 / ((1 + std::abs(x)) * (1 + std::abs(x))); }},
    {.kind = Kind::kSignBit,
     .name = "SignBit",
     .value = [](F, float x) { return std::signbit(x) ? 1.0F : 0.0F; }},
    {.kind = Kind::kSign,
     .name = "Sign",
     .value = [](F, float x) { return static_cast<float>((x > 0) - (x < 0)); },
     .takes_integers = true},
    {.kind = Kind::kExp,
     .name = "Exp",
     .value = rounded<elementary::exp>,
     .derivative = rounded<elementary::exp>},
    {.kind = Kind::kLog,
     .name = "Log",
     .value = rounded<elementary::log>,
     .derivative = [](F, float x) { return 1 / x; }},
    {.kind = Kind::kSqrt,
     .name = "Sqrt",
     .value = [](F, float x) { return std::sqrt(x); },
     .derivative = [](F, float x) { return 0.5F / std::sqrt(x); }},
    {.kind = Kind::kAbs,
     .name = "Abs",
     .value = [](F, float x) { return std::abs(x); },
     .derivative = [](F, float x) { return x < 0 ? -1.0F : 1.0F; },
     .takes_integers = true},
    {.kind = Kind::kNeg,
     .name = "Neg",
     .value = [](F, float x) { return -x; },
     .derivative = [](F, float /*x*/) { return -1.0F; },
     .takes_integers = true},
    {.kind = Kind::kReciprocal,
     .name = "Reciprocal",
     .value = [](F, float x) { return 1 / x; },
     .derivative = [](F, float x) { return -1 / (x * x); }},
    {.kind = Kind::kSquare,
     .name = "Square",
     .value = [](F, float x) { return x * x; },
     .derivative = [](F, float x) { return 2 * x; }},
    {.kind = Kind::kErf,
     .name = "Erf",
     .value = rounded<elementary::erf>,
     .derivative = rounded<erf_slope>},
    {.kind = Kind::kFloor, .name = "Floor", .value = [](F, float x) { return std::floor(x); }},
    {.kind = Kind::kCeil, .name = "Ceil", .value = [](F, float x) { return std::ceil(x); }},
    {.kind = Kind::kRound, .name = "Round", .value = [](F, float x) { return std::nearbyint(x); }},
    {.kind = Kind::kSin,
     .name = "Sin",
     .value = rounded<elementary::sin>,
     .derivative = rounded<elementary::cos>},
    {.kind = Kind::kCos,
     .name = "Cos",
     .value = rounded<elementary::cos>,
     .derivative = negated<elementary::sin>},
    {.kind = Kind::kTan,
     .name = "Tan",
     .value = rounded<elementary::tan>,
     .derivative = rounded<tan_slope>},
    {.kind = Kind::kAsin,
     .name = "Asin",
     .value = rounded<elementary::asin>,
     .derivative = rounded<asin_slope>},
    {.kind = Kind::kAcos,
     .name = "Acos",
     .value = rounded<elementary::acos>,
     .derivative = negated<asin_slope>},
    {.kind = Kind::kAtan,
     .name = "Atan",
     .value = rounded<elementary::atan>,
     .derivative = rounded<atan_slope>},
    {.kind = Kind::kSinh,
     .name = "Sinh",
     .value = rounded<elementary::sinh>,
     .derivative = rounded<elementary::cosh>},
    {.kind = Kind::kCosh,
     .name = "Cosh",
     .value = rounded<elementary::cosh>,
     .derivative = rounded<elementary::sinh>},
    {.kind = Kind::kAsinh,
     .name = "Asinh",
     .value = rounded<elementary::asinh>,
     .derivative = rounded<asinh_slope>},
    {.kind = Kind::kAcosh,
     .name = "Acosh",
     .value = rounded<elementary::acosh>,
     .derivative = rounded<acosh_slope>},
    {.kind = Kind::kAtanh,
     .name = "Atanh",
     .value = rounded<elementary::atanh>,
     .derivative = rounded<atanh_slope>},
    {.kind = Kind::kNot,
     .name = "Not",
     .value = [](F, float x) { return x == 0 ? 1.0F : 0.0F; },
     .is_predicate = true,
     .takes_integers = true},
    {.kind = Kind::kIsNan,
     .name = "IsNan",
     .value = [](F, float x) { return std::isnan(x) ? 1.0F : 0.0F; },
     .is_predicate = true},
    {.kind = Kind::kIsInf,
     .name = "IsInf",
     .value =
         [](F f, float x) {
           return std::isinf(x) && (x > 0 ? f.alpha : f.beta) != 0 ? 1.0F : 0.0F;
         },
     .is_predicate = true},
};

static_assert(has_all_kinds(kTable));

}  // namespace

std::span<const ActivationTraits, kNumActivationKinds> activation_table() { return kTable; }

const ActivationTraits& traits_of(ActivationKind kind) {
  return kTable[static_cast<std::size_t>(kind)];
}

std::string_view to_string(ActivationKind kind) {
  return static_cast<std::size_t>(kind) < std::size(kTable) ? traits_of(kind).name : "unknown";
}

std::string to_string(const Activation& activation) {
  std::string text(to_string(activation.kind));
  if (activation.alpha != 0 || activation.beta != 0) {
    text.append("(").append(std::to_string(activation.alpha)).append(", ");
    text.append(std::to_string(activation.beta)).append(")");
  }
  return text;
}

std::optional<Limits> limits_of(const Activation& activation) {
  if (activation.kind != Kind::kClip) return traits_of(activation.kind).limits;
  if (!(activation.alpha <= activation.beta)) return std::nullopt;
  return Limits{activation.alpha, activation.beta};
}

float apply(const Activation& activation, float x) {
  return traits_of(activation.kind).value(activation, x);
}

}  // namespace halftone::ir
