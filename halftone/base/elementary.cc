// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/elementary.h"

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <numbers>

namespace halftone::elementary {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

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

// Two words of zeros, then the bits of 2 / pi behind the binary point.
constexpr std::uint32_t kTwoOverPi[] = {
    0,          0,          0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599,
    0x3c439041, 0xfe5163ab, 0xdebbc561, 0xb7246e3a, 0x424dd2e0, 0x06492eea, 0x09d1921c,
    0xfe1deb1c, 0xb129a73e, 0xe88235f5, 0x2ebb4484, 0xe99c7026, 0xb45f7e41, 0x3991d639,
    0x835339f4, 0x9c845f8b, 0xbdf9283b, 0x1ff897ff, 0xde05980f, 0xef2f118b, 0x5a0a6d1f,
    0x6d367ecf, 0x27cb09b7, 0x4f463f66, 0x9e5fea2d, 0x7527bac7, 0xebe5f17b, 0x3d0739f7,
    0x8a5292ea, 0x6bfb5fb1, 0x1f8d5d08, 0x56033046, 0xfc7b6bab, 0xf0cfbc20};

/// An angle as quarters pi / 2 + rest.
struct Angle {
  int quarters;  ///< modulo 4
  double rest;   ///< |rest| <= pi / 4, but for rounding
};

/// Reduces x > 2^20, which is m 2^e with an integer m < 2^53: m times those bits of 2 / pi that
/// give less than 4, to 130 bits behind the binary point. Source: Payne and Hanek, Radian reduction
/// for trigonometric functions, SIGNUM Newsletter 18 (1983).
Angle reduce_large(double x) {
  constexpr int kDigits = std::numeric_limits<double>::digits;
  constexpr std::uint64_t kLow = 0xffffffff;
  int exponent = 0;
  const auto m = static_cast<std::uint64_t>(std::ldexp(std::frexp(x, &exponent), kDigits));
  const auto first_bit = static_cast<unsigned>(64 + exponent - kDigits - 2);
  const auto word = [&](unsigned i) -> std::uint64_t {
    const unsigned at = first_bit / 32 + i;
    const std::uint64_t two = (std::uint64_t{kTwoOverPi[at]} << 32) | kTwoOverPi[at + 1];
    return (two >> (32 - first_bit % 32)) & kLow;
  };
  // Digits of 32 bits of the product; the first counts 2^-30 quarters.
  std::uint64_t digits[5] = {};
  std::uint64_t carry = 0;
  for (unsigned i = 5; i-- > 0;) {
    const std::uint64_t sum =
        carry + (((m & kLow) * word(i)) & kLow) + (((m & kLow) * word(i + 1)) >> 32) +
        (((m >> 32) * word(i + 1)) & kLow) + (((m >> 32) * word(i + 2)) >> 32);
    digits[i] = sum & kLow;
    carry = sum >> 32;
  }
  const auto scaled = [&](std::size_t i) {
    return std::ldexp(static_cast<double>(digits[i]), -30 - 32 * static_cast<int>(i));
  };
  auto quarters = static_cast<int>(digits[0] >> 30);
  digits[0] &= 0x3fffffff;
  const bool is_above = digits[0] >> 29 != 0;  // half a quarter or more
  double turn = is_above ? scaled(0) - 1 : scaled(0);
  for (std::size_t i = 1; i < std::size(digits); ++i) turn += scaled(i);
  return {(quarters + (is_above ? 1 : 0)) & 3, turn * (std::numbers::pi / 2)};
}

/// @pre x is finite
Angle reduce(double x) {
  if (x > 0x1p20) return reduce_large(x);
  if (x < -0x1p20) {
    const Angle mirrored = reduce_large(-x);
    return {(4 - mirrored.quarters) & 3, -mirrored.rest};
  }
  const double whole = std::nearbyint(x * (2 * std::numbers::inv_pi));
  const double rest = ((x - whole * kHalfPiHigh) - whole * kHalfPiMiddle) - whole * kHalfPiLow;
  return {static_cast<int>(whole) & 3, rest};
}

/// sin(angle + quarters pi / 2).
double shifted_sin(const Angle& angle, int quarters) {
  const int quadrant = (angle.quarters + quarters) & 3;
  const double size = quadrant % 2 == 0 ? sin_series(angle.rest) : cos_series(angle.rest);
  return quadrant < 2 ? size : -size;
}

/// atan(x) for |x| <= tan(pi / 8), its series to x^43/43, the next term below 2^-62.
double atan_series(double x) {
  const double square = x * x;
  double sum = 0;
  for (int n = 43; n >= 3; n -= 2) sum = square * (1.0 / n - sum);
  return x - x * sum;
}

// From here on log(2 x) is asinh(x) and acosh(x), to 2^-58 of them.
constexpr double kLargeArea = 0x1p28;

}  // namespace

double exp(double x) {
  // The range of exponents where 2^whole times a number from 2/3 to 3/2 is a normal number.
  constexpr double kLeast = -1021;
  constexpr double kMost = 1022;
  constexpr int kBias = 1023;
  constexpr int kMantissaBits = 52;
  if (std::isnan(x)) return x;
  if (x > 710) return std::numeric_limits<double>::infinity();
  if (x < -746) return 0;
  const double whole = std::nearbyint(x * std::numbers::log2e);
  const double r = (x - whole * kLn2High) - whole * kLn2Low;
  const double mantissa = 1 + r * scaled_expm1(r);
  const int exponent = static_cast<int>(whole);
  if (whole < kLeast || whole > kMost) return std::ldexp(mantissa, exponent);
  return mantissa * std::bit_cast<double>(std::uint64_t(exponent + kBias) << kMantissaBits);
}

double expm1(double x) {
  if (std::abs(x) <= std::numbers::ln2 / 2) return x * scaled_expm1(x);
  return exp(x) - 1;
}

double log(double x) {
  if (std::isnan(x) || x < 0) return kNan;
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

double pow(double x, double y) {
  // The values at zeros, infinities and NaN are exact in every library.
  if (x == 0 || y == 0 || !std::isfinite(x) || !std::isfinite(y)) return std::pow(x, y);
  if (x > 0) return exp(y * log(x));
  if (y != std::trunc(y)) return kNan;
  const double size = exp(y * log(-x));
  return std::fmod(y, 2) == 0 ? size : -size;
}

double sin(double x) {
  if (!std::isfinite(x)) return kNan;
  return x == 0 ? x : shifted_sin(reduce(x), 0);
}

double cos(double x) { return std::isfinite(x) ? shifted_sin(reduce(x), 1) : kNan; }

double tan(double x) {
  if (!std::isfinite(x)) return kNan;
  if (x == 0) return x;
  const Angle angle = reduce(x);
  return shifted_sin(angle, 0) / shifted_sin(angle, 1);
}

double asin(double x) {
  if (!(std::abs(x) <= 1)) return kNan;
  return atan(x / std::sqrt((1 - x) * (1 + x)));
}

double acos(double x) {
  if (!(std::abs(x) <= 1)) return kNan;
  return 2 * atan(std::sqrt((1 - x) / (1 + x)));
}

double atan(double x) {
  constexpr double kTanPiOver8 = std::numbers::sqrt2 - 1;
  if (x == 0 || std::isnan(x)) return x;
  const double size = std::abs(x);
  if (size > 1) return std::copysign(std::numbers::pi / 2 - atan(1 / size), x);
  if (size <= kTanPiOver8) return atan_series(x);
  return std::copysign(std::numbers::pi / 4 + atan_series((size - 1) / (size + 1)), x);
}

double sinh(double x) {
  const double e = expm1(std::abs(x));
  return std::copysign(std::isinf(e) ? e : (e + e / (e + 1)) / 2, x);
}

double cosh(double x) {
  const double e = exp(std::abs(x));
  return (e + 1 / e) / 2;
}

double tanh(double x) {
  constexpr double kSaturated = 20;  // 1 - tanh(20) is below 2^-56
  if (std::abs(x) > kSaturated) return std::copysign(1, x);
  const double e = expm1(2 * x);
  return e / (e + 2);
}

double asinh(double x) {
  const double size = std::abs(x);
  if (size > kLargeArea) return std::copysign(log(size) + std::numbers::ln2, x);
  const double square = size * size;
  return std::copysign(log1p(size + square / (1 + std::sqrt(1 + square))), x);
}

double acosh(double x) {
  if (!(x >= 1)) return kNan;
  if (x > kLargeArea) return log(x) + std::numbers::ln2;
  const double above = x - 1;
  return log1p(above + std::sqrt(above * (2 + above)));
}

double atanh(double x) {
  const double size = std::abs(x);
  if (!(size <= 1)) return kNan;
  return std::copysign(log1p(2 * size / (1 - size)) / 2, x);
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

double erfc(double x) {
  if (!(x >= 2)) return 1 - erf(x);
  if (std::isinf(x)) return 0;
  // e^(-x^2) / sqrt(pi) / (x + 1/2 / (x + 2/2 / (x + 3/2 / ...))); the rest is below 2^-55.
  double rest = x;
  for (int n = 60; n >= 1; --n) rest = x + n / (2 * rest);
  return std::numbers::inv_sqrtpi * exp(-x * x) / rest;
}

}  // namespace halftone::elementary
