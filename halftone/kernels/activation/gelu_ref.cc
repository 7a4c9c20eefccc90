// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/activation/math_reference.h"

namespace halftone::kernels {

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

}  // namespace halftone::kernels
