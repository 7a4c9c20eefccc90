// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/scale_rule.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

namespace halftone::numerics {
namespace {

double largest_level(const Codebook& codebook) {
  const double last = codebook.sorted().back();
  return last > 0 ? last : std::abs(double{codebook.sorted().front()});
}

BlockScale range_scale(const Codebook& codebook, double least, double most) {
  const double low = codebook.sorted().front();
  const double levels = codebook.sorted().back() - low;
  const double scale = (most - least) / levels;
  // Equal values are the lowest level at whatever scale is stored in place of 0.
  return {scale, least - (scale == 0 ? 1 : scale) * low};
}

}  // namespace

void ValueRange::add(std::span<const float> values) {
  // The bits of float32 have the order of the numbers once those of negative ones are flipped.
  // Without branches on floats, the compiler vectorizes the loop.
  constexpr std::int32_t kMagnitude = 0x7fffffff;
  constexpr std::int32_t kInfinity = 0x7f800000;
  const auto flipped = [](std::int32_t bits) { return bits ^ (bits >> 31 & kMagnitude); };
  std::int32_t least = flipped(std::bit_cast<std::int32_t>(low));
  std::int32_t most = flipped(std::bit_cast<std::int32_t>(high));
  for (const float x : values) {
    const auto bits = std::bit_cast<std::int32_t>(x);
    const std::int32_t key = flipped(bits);
    const bool is_finite = (bits & kMagnitude) < kInfinity;
    least = std::min(least, is_finite ? key : kInfinity);
    most = std::max(most, is_finite ? key : ~kInfinity);
  }
  low = std::bit_cast<float>(flipped(least));
  high = std::bit_cast<float>(flipped(most));
}

float ValueRange::magnitude() const {
  return is_empty() ? 0 : std::max(std::abs(low), std::abs(high));
}

BlockScale block_scale(const Codebook& codebook, ScaleRule rule, const ValueRange& values,
                       double largest) {
  if (rule == ScaleRule::kUnit) return {1, 0};
  if (values.is_empty()) return {};
  if (rule == ScaleRule::kRange) return range_scale(codebook, values.low, values.high);
  if (rule == ScaleRule::kRangeFromZero) {
    return range_scale(codebook, std::min(0.0F, values.low), values.high);
  }
  const double magnitude = values.magnitude();
  if (magnitude == 0) return {};
  const double level = largest == 0 ? largest_level(codebook) : largest;
  if (rule == ScaleRule::kLargest) return {magnitude / level, 0};
  return {std::ldexp(1.0, std::ilogb(magnitude) - std::ilogb(level)), 0};
}

}  // namespace halftone::numerics
