// SPDX-License-Identifier: Apache-2.0
// Scalar versions of math-inl.h: the same operations in the same order.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "halftone/kernels/activation/math_constants.h"

namespace halftone::kernels::math_reference {

inline constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

inline float polynomial(float x, std::span<const float> coefficients) {
  float sum = coefficients[0];
  for (const float coefficient : coefficients.subspan(1)) sum = sum * x + coefficient;
  return sum;
}

inline float power_of_two(std::int32_t k) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(k + 127) << 23);
}

inline float times_power_of_two(float y, std::int32_t k) {
  return (y * power_of_two(k >> 1)) * power_of_two(k - (k >> 1));
}

/// round(x log2(e)).
inline float exponent_of(float x) {
  return (x * math_constants::kLog2E + math_constants::kRoundMagic) - math_constants::kRoundMagic;
}

/// x - whole ln 2.
inline float reduced(float x, float whole) {
  return (x - whole * math_constants::kLn2High) - whole * math_constants::kLn2Low;
}

inline float reduced_exp_minus_1(float r) {
  return polynomial(r, math_constants::kExp) * (r * r) + r;
}

inline float capped_magnitude(float x, float high) {
  return std::fabs(x) > high ? high : std::fabs(x);
}

inline float times_sigmoid(float x, float a, float v) {
  const float whole = exponent_of(-v);
  const auto k = static_cast<std::int32_t>(whole);
  const float m = reduced_exp_minus_1(reduced(-v, whole)) + 1;
  return (x < 0 ? times_power_of_two(-a * m, k) : x) / (1 + times_power_of_two(m, k));
}

}  // namespace halftone::kernels::math_reference
