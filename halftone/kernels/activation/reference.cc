// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <cmath>
#include <limits>

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

namespace c = math_constants;
using math_reference::capped_magnitude;
using math_reference::exponent_of;
using math_reference::kNan;
using math_reference::polynomial;
using math_reference::reduced;
using math_reference::reduced_exp_minus_1;
using math_reference::times_power_of_two;
using math_reference::times_sigmoid;

float erf_reference(float x) {
  if (std::isnan(x)) return kNan;
  const float a = capped_magnitude(x, c::kErfHigh);
  const float y = a < c::kErfSplit ? a + a * polynomial(a * a, c::kErf)
                                   : 1 - exp_reference(polynomial(a, c::kLogErfc));
  return std::copysign(y, x);
}

float gelu_reference(float x) {
  if (std::isnan(x)) return kNan;
  const float a = capped_magnitude(x, c::kGeluHigh);
  const float high = std::bit_cast<float>(std::bit_cast<std::uint32_t>(a) & c::kHighDigits);
  const float square = -0.5F * (high * high);
  const float rest = -0.5F * ((a - high) * (a + high));
  const float whole = exponent_of(square + rest);
  const auto k = static_cast<std::int32_t>(whole);
  const float ratio = polynomial(a, c::kTailP) / polynomial(a, c::kTailQ);
  const float e = reduced_exp_minus_1(reduced(square, whole) + rest) + 1;
  const float tail = ratio * e;
  return x < 0 ? times_power_of_two(-a * tail, k) : x * (1 - times_power_of_two(tail, k));
}

float gelu_tanh_reference(float x) {
  if (std::isnan(x)) return kNan;
  const float a = capped_magnitude(x, c::kGeluTanhHigh);
  return times_sigmoid(x, a, a * (c::kGeluTanhLinear + c::kGeluTanhCubic * (a * a)));
}

void softmax_reference(MatrixView<const float> x, MatrixView<float> y) noexcept {
  for (std::size_t r = 0; r < x.rows(); ++r) {
    float largest = -std::numeric_limits<float>::infinity();
    for (const float value : x.row(r)) largest = value > largest ? value : largest;
    std::array<float, 16> partial{};
    for (std::size_t c = 0; c < x.cols(); ++c) {
      y(r, c) = exp_reference(x(r, c) - largest);
      partial[c % 16] += y(r, c);
    }
    for (std::size_t h = 8; h != 0; h /= 2) {
      for (std::size_t l = 0; l < h; ++l) partial[l] += partial[l + h];
    }
    for (float& value : y.row(r)) value /= partial[0];
  }
}

}  // namespace halftone::kernels
