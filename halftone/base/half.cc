// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/half.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <utility>

namespace halftone {

std::uint16_t half_from_float(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  const auto sign = static_cast<std::uint16_t>(bits >> 16 & 0x8000);
  const std::uint32_t magnitude = bits & 0x7fffffff;
  if (magnitude > 0x7f800000) return static_cast<std::uint16_t>(sign | 0x7e00);   // NaN
  if (magnitude >= 0x477ff000) return static_cast<std::uint16_t>(sign | 0x7c00);  // >= 65520
  if (magnitude < 0x38800000) {
    // Subnormal: units of 2^-24. nearbyint rounds ties to even.
    const float units = std::nearbyint(std::bit_cast<float>(magnitude) * 0x1p24f);
    return static_cast<std::uint16_t>(sign | static_cast<std::uint16_t>(units));
  }
  // Drop 13 mantissa bits, ties to even; a carry runs into the exponent as it should.
  const std::uint32_t rounded = magnitude + 0xfff + (magnitude >> 13 & 1);
  return static_cast<std::uint16_t>(sign | (rounded - 0x38000000) >> 13);
}

float float_from_half(std::uint16_t half) {
  const std::uint32_t sign = std::uint32_t{half & 0x8000u} << 16;
  const std::uint32_t exponent = half >> 10 & 0x1f;
  const std::uint32_t mantissa = half & 0x3ff;
  if (exponent == 0) {
    const float magnitude = static_cast<float>(mantissa) * 0x1p-24f;
    return std::bit_cast<float>(std::bit_cast<std::uint32_t>(magnitude) | sign);
  }
  const std::uint32_t wide = exponent == 0x1f ? 0xff : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | mantissa << 13);
}

std::optional<std::vector<std::uint16_t>> exact_halves(std::span<const float> numbers) {
  std::vector<std::uint16_t> halves(numbers.size());
  std::ranges::transform(numbers, halves.begin(), half_from_float);
  const bool exact = std::ranges::equal(numbers, halves, [](float number, std::uint16_t half) {
    return std::bit_cast<std::uint32_t>(number) ==
           std::bit_cast<std::uint32_t>(float_from_half(half));
  });
  return exact ? std::optional(std::move(halves)) : std::nullopt;
}

float float_from_bfloat16(std::uint16_t bits) {
  return std::bit_cast<float>(std::uint32_t{bits} << 16);
}

std::uint16_t bfloat16_from_float(float x) {
  const auto bits = std::bit_cast<std::uint32_t>(x);
  // A NaN whose set bits are all in the lower half would become infinity.
  if (std::isnan(x)) return static_cast<std::uint16_t>(bits >> 16 | 0x40);
  return static_cast<std::uint16_t>((bits + 0x7fff + (bits >> 16 & 1)) >> 16);
}

}  // namespace halftone
