// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/activation/math_reference.h"

namespace halftone::kernels {
namespace {

namespace c = math_constants;
using math_reference::capped_magnitude;
using math_reference::exponent_of;
using math_reference::kNan;
using math_reference::polynomial;
using math_reference::power_of_two;
using math_reference::reduced;
using math_reference::reduced_exp_minus_1;
using math_reference::times_power_of_two;
using math_reference::times_sigmoid;

float clamp_reference(float x, float low, float high) {
  return x < low ? low : x > high ? high : x;
}

}  // namespace

float exp_reference(float x) {
  if (std::isnan(x)) return kNan;
  x = clamp_reference(x, c::kExpLow, c::kExpHigh);
  const float whole = exponent_of(x);
  return times_power_of_two(reduced_exp_minus_1(reduced(x, whole)) + 1,
                            static_cast<std::int32_t>(whole));
}

float sigmoid_reference(float x) {
  if (std::isnan(x)) return kNan;
  const float e = exp_reference(-std::fabs(x));
  return (x < 0 ? e : 1.0F) / (1 + e);
}

float tanh_reference(float x) {
  if (std::isnan(x)) return kNan;
  const float a = capped_magnitude(x, c::kTanhHigh);
  const float z = a * a;
  const float y = a < c::kTanhSplit ? a + (a * z) * polynomial(z, c::kTanh)
                                    : 1 - 2 / (exp_reference(a + a) + 1);
  return std::copysign(y, x);
}

float hard_sigmoid_reference(float x, float slope, float shift) {
  const float y = slope * x + shift;
  return std::isnan(y) ? kNan : clamp_reference(y, 0, 1);
}

float hard_swish_reference(float x) {
  if (std::isnan(x)) return kNan;
  if (x < -3) x = -3;
  return x * (clamp_reference(x + 3, 0, 6) * (1.0F / 6));
}

float silu_reference(float x) {
  if (std::isnan(x)) return kNan;
  const float a = capped_magnitude(x, c::kSiluHigh);
  return times_sigmoid(x, a, a);
}

float elu_reference(float x, float alpha, float scale) {
  if (std::isnan(x)) return kNan;
  if (!(x < 0)) return scale * x;
  if (x < c::kExpMinus1Low) x = c::kExpMinus1Low;
  const float whole = exponent_of(x);
  const float power = power_of_two(static_cast<std::int32_t>(whole));
  return scale * (alpha * (power * reduced_exp_minus_1(reduced(x, whole)) + (power - 1)));
}

float softplus_reference(float x) {
  if (std::isnan(x)) return kNan;
  const float t = exp_reference(-std::fabs(x));
  return (x > 0 ? x : 0) + (t - (t * t) * polynomial(t, c::kLog1P));
}

}  // namespace halftone::kernels
