// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "halftone/base/error.h"
#include "halftone/kernels/encode/requantize.h"

namespace halftone::kernels {
namespace {

template <typename Code>
void requantize_plainly(std::span<const std::int32_t> x, const Requantization& how, Code* q) {
  const auto [zero_point, low, high] = how.bounds();
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto y = static_cast<std::uint32_t>(numerics::multiply(x[i], how.multiplier(i)));
    const auto code = static_cast<std::int32_t>(y + static_cast<std::uint32_t>(zero_point));
    q[i] = static_cast<Code>(std::clamp(code, low, high));
  }
}

}  // namespace

Requantization::Requantization(std::span<const numerics::FixedMultiplier> multipliers,
                               CodeBounds bounds)
    : bounds_(bounds), multipliers_(multipliers.begin(), multipliers.end()) {
  HALFTONE_ASSERT(!multipliers.empty());
  const std::size_t period = std::lcm(multipliers.size(), kLanes);
  for (std::size_t i = 0; i < period; ++i) {
    const numerics::FixedMultiplier m = multiplier(i);
    HALFTONE_ASSERT(m.shift >= -31 && m.shift <= 30);
    mantissas_.push_back(m.mantissa);
    left_shifts_.push_back(std::max(m.shift, 0));
    right_shifts_.push_back(std::max(-m.shift, 0));
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
