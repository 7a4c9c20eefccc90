// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>

#include "halftone/kernels/encode/linear_codes.h"

namespace halftone::kernels {
namespace {

template <typename Number>
Number combined(PairKind kind, Number a, Number b) {
  if (kind == PairKind::kSum) return a + b;
  return kind == PairKind::kDifference ? a - b : a * b;
}

float number_of(std::int32_t q, CodeScale scale) {
  return scale.scale * static_cast<float>(q - scale.zero_point);
}

}  // namespace

std::int32_t quantized_reference(float x, const CodeRounder& how) noexcept {
  const float steps = x / how.scale;
  const float whole = (how.half_away ? std::round(steps) : std::nearbyint(steps)) +
                      static_cast<float>(how.bounds.zero_point);
  if (std::isnan(whole)) return 0;
  return static_cast<std::int32_t>(
      std::clamp(whole, static_cast<float>(how.bounds.low), static_cast<float>(how.bounds.high)));
}

std::int32_t combined_reference(std::int32_t a, std::int32_t b, const FloatPair& how) noexcept {
  const float number = combined(how.kind, number_of(a, how.a), number_of(b, how.b));
  return quantized_reference(std::clamp(number, how.low, how.high), how.y);
}

}  // namespace halftone::kernels
