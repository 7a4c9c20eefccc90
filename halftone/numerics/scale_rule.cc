// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/scale_rule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>

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
  const auto include = [this](float x) {
    if (!std::isfinite(x)) return;
    low = std::min(low, x);
    high = std::max(high, x);
  };
  // Each lane has its own range, so that the compiler vectorizes the loop. No comparison holds for
  // NaN, and infinities remain until the end.
  constexpr std::size_t kLanes = 4;
  const std::size_t whole = values.size() / kLanes * kLanes;
  std::array<float, kLanes> lows;
  std::array<float, kLanes> highs;
  lows.fill(low);
  highs.fill(high);
  for (std::size_t i = 0; i < whole; i += kLanes) {
    for (std::size_t j = 0; j < kLanes; ++j) {
      const float x = values[i + j];
      lows[j] = x < lows[j] ? x : lows[j];
      highs[j] = x > highs[j] ? x : highs[j];
    }
  }
  const float least = *std::ranges::min_element(lows);
  const float most = *std::ranges::max_element(highs);
  if (std::isfinite(least) && std::isfinite(most)) {
    low = least;
    high = most;
  } else {
    std::ranges::for_each(values.first(whole), include);
  }
  std::ranges::for_each(values.subspan(whole), include);
}

float ValueRange::magnitude() const {
  return is_empty() ? 0 : std::max(std::abs(low), std::abs(high));
}

BlockScale block_scale(const Codebook& codebook, ScaleRule rule, const ValueRange& values,
                       double largest) {
  if (rule == ScaleRule::kUnit) return {1, 0};
  if (values.is_empty()) return {};
  if (rule == ScaleRule::kRange) return range_scale(codebook, values.low, values.high);
  if (rule == ScaleRule::kRangeWithZero) {
    return range_scale(codebook, std::min(0.0F, values.low), std::max(0.0F, values.high));
  }
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
