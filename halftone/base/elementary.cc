// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/elementary.h"

#include <cmath>
#include <limits>
#include <numbers>

namespace halftone::elementary {
namespace {

// ln 2 in two parts: products of the first with integers below 2^20 are exact.
constexpr double kLn2High = 0x1.62e42fefap-1;
constexpr double kLn2Low = 0x1.cf79abc9e3b39p-40;
// pi / 2 in three parts, the first two of 33 bits.
constexpr double kHalfPiHigh = 0x1.921fb544p+0;
constexpr double kHalfPiMiddle = 0x1.0b4611a6p-34;
constexpr double kHalfPiLow = 0x1.3198a2e037073p-69;

/// (e^r - 1) / r for |r| <= ln(2) / 2: 1 + r/2 + r^2/6 + ... to r^13/14!, the next term below
/// 2^-60.
double scaled_expm1(double r) {
  double sum = 1;
  for (int n = 14; n >= 2; --n) sum = 1 + r / n * sum;
  return sum;
}

/// 2 atanh(s) for |s| <= 3 - 2 sqrt(2): 2 (s + s^3/3 + ...) to s^25/25, the next term below 2^-65.
double twice_atanh(double s) {
  const double square = s * s;
  double sum = 0;
  for (int n = 25; n >= 3; n -= 2) sum = square * (sum + 1.0 / n);
  return 2 * s + 2 * s * sum;
}

/// sin(r) for |r| <= pi / 4, its series to r^17/17!.
double sin_series(double r) {
  const double square = r * r;
  double sum = 0;
  for (int n = 16; n >= 2; n -= 2) sum = -square / (n * (n + 1)) * (1 + sum);
  return r + r * sum;
}

/// cos(r) for |r| <= pi / 4, its series to r^18/18!.
double cos_series(double r) {
  const double square = r * r;
  double sum = 0;
  for (int n = 17; n >= 1; n -= 2) sum = -square / (n * (n + 1)) * (1 + sum);
  return 1 + sum;
}

/// sin(x + quarters pi / 2).
double shifted_sin(double x, int quarters) {
  if (!std::isfinite(x)) return std::numeric_limits<double>::quiet_NaN();
  constexpr double kLarge = 0x1p20;
  if (std::abs(x) > kLarge) x = std::remainder(x, 2 * std::numbers::pi);
  const double whole = std::nearbyint(x * (2 * std::numbers::inv_pi));
  const double r = ((x - whole * kHalfPiHigh) - whole * kHalfPiMiddle) - whole * kHalfPiLow;
  switch ((static_cast<int>(whole) + quarters) & 3) {
    case 0:
      return sin_series(r);
    case 1:
      return cos_series(r);
    case 2:
      return -sin_series(r);
    default:
      return -cos_series(r);
  }
}

}  // namespace

double exp(double x) {
  if (std::isnan(x)) return x;
  if (x > 710) return std::numeric_limits<double>::infinity();
  if (x < -746) return 0;
  const double whole = std::nearbyint(x * std::numbers::log2e);
  const double r = (x - whole * kLn2High) - whole * kLn2Low;
  return std::ldexp(1 + r * scaled_expm1(r), static_cast<int>(whole));
}

double expm1(double x) {
  if (std::abs(x) <= std::numbers::ln2 / 2) return x * scaled_expm1(x);
  return exp(x) - 1;
}

double log(double x) {
  if (std::isnan(x) || x < 0) return std::numeric_limits<double>::quiet_NaN();
  if (x == 0) return -std::numeric_limits<double>::infinity();
  if (std::isinf(x)) return x;
  int exponent = 0;
  double mantissa = std::frexp(x, &exponent);
  if (mantissa < std::numbers::sqrt2 / 2) {
    mantissa *= 2;
    --exponent;
  }
  const double rest = twice_atanh((mantissa - 1) / (mantissa + 1));
  return exponent * kLn2High + (exponent * kLn2Low + rest);
}

double log1p(double x) {
  constexpr double kSmall = 0.25;
  return std::abs(x) <= kSmall ? twice_atanh(x / (2 + x)) : log(1 + x);
}

double tanh(double x) {
  constexpr double kSaturated = 20;  // 1 - tanh(20) is below 2^-56
  if (std::abs(x) > kSaturated) return std::copysign(1, x);
  const double e = expm1(2 * x);
  return e / (e + 2);
}

double erf(double x) {
  if (std::isnan(x)) return x;
  constexpr double kSaturated = 6;  // 1 - erf(6) is below 2^-55
  if (std::abs(x) > kSaturated) return std::copysign(1, x);
  // 2 / sqrt(pi) e^(-x^2) sum_n 2^n x^(2n + 1) / (1 3 ... (2n + 1)): terms of one sign.
  double term = x;
  double sum = x;
  for (int n = 1; std::abs(term) > 0x1p-56 * std::abs(sum); ++n) {
    term *= 2 * x * x / (2 * n + 1);
    sum += term;
  }
  return 2 * std::numbers::inv_sqrtpi * exp(-x * x) * sum;
}

double sin(double x) { return shifted_sin(x, 0); }

double cos(double x) { return shifted_sin(x, 1); }

double pow(double x, double y) {
  // The values at zeros, infinities and NaN are exact in every library.
  if (x == 0 || y == 0 || !std::isfinite(x) || !std::isfinite(y)) return std::pow(x, y);
  if (x > 0) return exp(y * log(x));
  if (y != std::trunc(y)) return std::numeric_limits<double>::quiet_NaN();
  const double size = exp(y * log(-x));
  return std::fmod(y, 2) == 0 ? size : -size;
}

}  // namespace halftone::elementary
