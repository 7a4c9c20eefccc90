// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>

#include "halftone/base/error.h"
#include "halftone/kernels/encode/requantize.h"

namespace halftone::kernels {
namespace {

/// Column i of a sum times its multiplier, rounded, in float64 plus the zero point.
double code_before_bounds(std::int32_t x, const Requantization& how, std::size_t i) {
  const std::size_t at = i % how.period();
  const std::int32_t zero_point = how.bounds().zero_point;
  if (how.rounding() == SumRounding::kTwice) {
    const numerics::FixedMultiplier m{how.mantissas()[at],
                                      how.left_shifts()[at] - how.right_shifts()[at]};
    const auto y = static_cast<std::uint32_t>(numerics::multiply(x, m));
    return static_cast<std::int32_t>(y + static_cast<std::uint32_t>(zero_point));
  }
  const double y = static_cast<double>(x) * how.factors()[at];
  return (how.rounding() == SumRounding::kHalfAway ? std::round(y) : std::nearbyint(y)) +
         zero_point;
}

template <typename Code>
void requantize_plainly(std::span<const std::int32_t> x, const Requantization& how, Code* q) {
  const double low = how.bounds().low;
  const double high = how.bounds().high;
  for (std::size_t i = 0; i < x.size(); ++i) {
    q[i] = static_cast<Code>(std::clamp(code_before_bounds(x[i], how, i), low, high));
  }
}

std::size_t period_of(std::size_t multipliers) {
  HALFTONE_ASSERT(multipliers > 0);
  return std::lcm(multipliers, Requantization::kLanes);
}

}  // namespace

Requantization::Requantization(std::span<const numerics::FixedMultiplier> multipliers,
                               CodeBounds bounds)
    : bounds_(bounds), rounding_(SumRounding::kTwice), period_(period_of(multipliers.size())) {
  for (std::size_t i = 0; i < period_; ++i) {
    const numerics::FixedMultiplier m = multipliers[i % multipliers.size()];
    HALFTONE_ASSERT(m.shift >= -31 && m.shift <= 30);
    mantissas_.push_back(m.mantissa);
    left_shifts_.push_back(std::max(m.shift, 0));
    right_shifts_.push_back(std::max(-m.shift, 0));
  }
}

Requantization::Requantization(std::span<const double> multipliers, CodeBounds bounds,
                               SumRounding rounding)
    : bounds_(bounds), rounding_(rounding), period_(period_of(multipliers.size())) {
  HALFTONE_ASSERT(rounding != SumRounding::kTwice);
  for (std::size_t i = 0; i < period_; ++i) {
    factors_.push_back(multipliers[i % multipliers.size()]);
  }
}

void requantize_reference(std::span<const std::int32_t> x, const Requantization& how,
                          std::span<std::int8_t> q) noexcept {
  requantize_plainly(x, how, q.data());
}

void requantize_reference(std::span<const std::int32_t> x, const Requantization& how,
                          std::span<std::uint8_t> q) noexcept {
  requantize_plainly(x, how, q.data());
}

}  // namespace halftone::kernels
