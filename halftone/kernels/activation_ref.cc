// SPDX-License-Identifier: Apache-2.0
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <span>

#include "halftone/kernels/activation.h"
#include "halftone/kernels/math_constants.h"

namespace halftone::kernels {
namespace {

namespace c = math_constants;

float polynomial(float x, std::span<const float> coefficients) {
  float sum = coefficients[0];
  for (const float coefficient : coefficients.subspan(1)) sum = sum * x + coefficient;
  return sum;
}

float power_of_two(std::int32_t k) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(k + 127) << 23);
}

}  // namespace

float exp_reference(float x) {
  if (std::isnan(x)) return std::numeric_limits<float>::quiet_NaN();
  if (x < c::kExpLow) x = c::kExpLow;
  if (x > c::kExpHigh) x = c::kExpHigh;
  const float whole = (x * c::kLog2E + c::kRoundMagic) - c::kRoundMagic;
  const auto k = static_cast<std::int32_t>(whole);
  const float r = (x - whole * c::kLn2High) - whole * c::kLn2Low;
  const float e = (polynomial(r, c::kExp) * (r * r) + r) + 1;
  return (e * power_of_two(k >> 1)) * power_of_two(k - (k >> 1));
}

float sigmoid_reference(float x) {
  if (std::isnan(x)) return std::numeric_limits<float>::quiet_NaN();
  const float e = exp_reference(-std::fabs(x));
  return (x < 0 ? e : 1.0F) / (1 + e);
}

float tanh_reference(float x) {
  if (std::isnan(x)) return std::numeric_limits<float>::quiet_NaN();
  const float a = std::fabs(x) > c::kTanhHigh ? c::kTanhHigh : std::fabs(x);
  const float z = a * a;
  const float y = a < c::kTanhSplit ? a + (a * z) * polynomial(z, c::kTanh)
                                    : 1 - 2 / (exp_reference(a + a) + 1);
  return std::copysign(y, x);
}

}  // namespace halftone::kernels
