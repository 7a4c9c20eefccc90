// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/rotated_codes.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>

namespace halftone::numerics {
namespace {

constexpr std::size_t kSumLanes = 8;  // of sums of errors
constexpr float kLargestNumber = 28672;
constexpr float kMiddleCode = 7.5F;
constexpr float kOnlyCode = 8;  // of numbers that are all the same, so that zeros stay zeros

/// A group with room for whole vectors; behind the last number are copies of it.
using Numbers = std::array<float, NibbleGroup::kNumbers>;

/// Codes as floats, and their error.
struct Rounded {
  NibbleGroup group;
  Numbers codes;
  float error = 0;
};

/// The least unit that is not below a number above zero, of those that there are.
std::uint8_t unit_code_of(float unit) {
  constexpr std::uint32_t kBelow = (std::uint32_t{1} << NibbleGroup::kUnitShift) - 1;
  const std::uint32_t upper =
      (std::bit_cast<std::uint32_t>(unit) + kBelow) >> NibbleGroup::kUnitShift;
  const std::uint32_t code = std::max(upper, NibbleGroup::kUnitBias) - NibbleGroup::kUnitBias;
  return static_cast<std::uint8_t>(std::min<std::uint32_t>(code, NibbleGroup::kNan - 1));
}

/// To the nearest integer, ties to even. @pre |x| < 2^22
float rounded(float x) {
  constexpr float kShift = 12582912.0F;  // 1.5 2^23 leaves no bits for a fraction
  return (x + kShift) - kShift;
}

/// The codes for a range around a middle.
void round_to_range(const Numbers& x, float middle, float range, Rounded& to) {
  constexpr float kLargestOffset = 127 / 8.0F;
  constexpr float kLeastOffset = -128 / 8.0F;
  const float reached =
      std::max(middle / (kLargestOffset + kMiddleCode), middle / (kLeastOffset + kMiddleCode));
  to.group.unit_code = unit_code_of(std::max(range / NibbleGroup::kMaxCode, reached));
  const float unit = to.group.unit();
  const float per_number = 1 / unit;
  const float code = range == 0 ? kOnlyCode : kMiddleCode;
  to.group.offset = static_cast<std::int8_t>(
      std::clamp(rounded((middle * per_number - code) * 8), -128.0F, 127.0F));
  const float first = to.group.first();
  std::array<float, kSumLanes> errors{};
  for (std::size_t i = 0; i < x.size(); i += kSumLanes) {
    for (std::size_t l = 0; l < kSumLanes; ++l) {
      const float nearest = rounded((x[i + l] - first) * per_number);
      const float limited = std::min(std::max(nearest, 0.0F), float{NibbleGroup::kMaxCode});
      const float error = x[i + l] - (limited * unit + first);
      to.codes[i + l] = limited;
      errors[l] += error * error;
    }
  }
  for (std::size_t apart = kSumLanes / 2; apart != 0; apart /= 2) {
    for (std::size_t l = 0; l < apart; ++l) errors[l] += errors[l + apart];
  }
  to.error = errors[0];
}

}  // namespace

void rotate_blocks(std::span<float> x) noexcept {
  const std::size_t block = x.size() & (~x.size() + 1);
  if (block < 2) return;
  const float factor = 1 / std::sqrt(static_cast<float>(block));
  for (std::size_t begin = 0; begin < x.size(); begin += block) {
    for (std::size_t apart = 1; apart < block; apart *= 2) {
      for (std::size_t i = begin; i < begin + block; i += 2 * apart) {
        for (std::size_t j = i; j < i + apart; ++j) {
          const float a = x[j];
          const float b = x[j + apart];
          x[j] = a + b;
          x[j + apart] = a - b;
        }
      }
    }
  }
  for (float& value : x) value *= factor;
}

float NibbleGroup::unit() const noexcept {
  if (unit_code == kNan) return std::numeric_limits<float>::quiet_NaN();
  return std::bit_cast<float>((std::uint32_t{unit_code} + kUnitBias) << kUnitShift);
}

NibbleGroup encode_nibbles(std::span<const float> x, std::span<std::uint8_t> codes) noexcept {
  if (!std::ranges::all_of(x, [](float value) { return std::isfinite(value); })) {
    std::ranges::fill(codes, std::uint8_t{0});
    return {.unit_code = NibbleGroup::kNan};
  }
  Numbers numbers;
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = std::clamp(x[std::min(i, x.size() - 1)], -kLargestNumber, kLargestNumber);
  }
  const auto [least, largest] = std::ranges::minmax(numbers);
  const float middle = 0.5F * (least + largest);
  Rounded best;
  round_to_range(numbers, middle, largest - least, best);
  for (const float share : {0.95F, 0.9F, 0.85F}) {
    Rounded shorter;
    round_to_range(numbers, middle, share * (largest - least), shorter);
    if (shorter.error < best.error) best = shorter;
  }
  for (std::size_t i = 0; i < x.size(); ++i) codes[i] = static_cast<std::uint8_t>(best.codes[i]);
  return best.group;
}

}  // namespace halftone::numerics
