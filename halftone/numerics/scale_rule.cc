// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/scale_rule.h"

#include <algorithm>
#include <cmath>

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
  for (const float x : values) {
    if (!std::isfinite(x)) continue;
    low = std::min(low, x);
    high = std::max(high, x);
  }
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
