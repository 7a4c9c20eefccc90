// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <numeric>
#include <optional>

#include "halftone/base/error.h"
#include "halftone/base/half.h"
#include "halftone/kernels/groups/group_layout.h"
#include "halftone/numerics/minifloat.h"
#include "halftone/numerics/stored_numbers.h"

namespace halftone::kernels {
namespace {

constexpr std::size_t kMaxBlockGroups = 16;

/// A finite number as an odd integer times a power of two; 0 as 0.
struct OddTimesPower {
  std::int64_t odd = 0;
  int exponent = 0;
};

OddTimesPower odd_times_power(float value) {
  if (value == 0) return {};
  constexpr int kFraction = std::numeric_limits<float>::digits - 1;
  constexpr int kBias = std::numeric_limits<float>::max_exponent - 1 + kFraction;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const int exponent = static_cast<int>(bits >> kFraction & 255);
  const std::uint32_t fraction = bits & ((1U << kFraction) - 1);
  const std::uint32_t mantissa = exponent == 0 ? fraction : fraction | 1U << kFraction;
  const int zeros = std::countr_zero(mantissa);
  const auto odd = static_cast<std::int64_t>(mantissa >> zeros);
  return {value < 0 ? -odd : odd, std::max(exponent, 1) - kBias + zeros};
}

/// A float16 and an int8 per scale.
struct Factors {
  std::uint16_t half = 0;
  std::array<std::int8_t, kMaxBlockGroups> bytes = {};
};

/// Divides `multiples` of `base` so that what is left of the base is a float16 and multiples fit
/// int8.
bool fit_factors(double base, std::span<const std::int64_t, kMaxBlockGroups> multiples,
                 Factors& factors) {
  const auto [least, most] = std::ranges::minmax(multiples);
  for (std::int64_t times = 1; least * times >= -128 && most * times <= 127; ++times) {
    const auto divided = static_cast<float>(base / static_cast<double>(times));
    if (static_cast<double>(divided) * static_cast<double>(times) != base) continue;
    factors.half = half_from_float(divided);
    if (float_from_half(factors.half) != divided) continue;
    for (std::size_t g = 0; g < kMaxBlockGroups; ++g) {
      factors.bytes[g] = static_cast<std::int8_t>(multiples[g] * times);
    }
    return true;
  }
  return false;
}

/// Scales as multiples of their greatest common divisor.
bool factor_scales(std::span<const float> scales, Factors& factors) {
  constexpr int kMaxShift = 30;
  std::array<OddTimesPower, kMaxBlockGroups> parts;
  int exponent = std::numeric_limits<int>::max();
  for (std::size_t g = 0; g < scales.size(); ++g) {
    if (!std::isfinite(scales[g])) return false;
    parts[g] = odd_times_power(scales[g]);
    if (scales[g] != 0) exponent = std::min(exponent, parts[g].exponent);
  }
  std::array<std::int64_t, kMaxBlockGroups> multiples = {};
  std::int64_t divisor = 0;
  for (std::size_t g = 0; g < scales.size(); ++g) {
    if (scales[g] == 0) continue;
    const int shift = parts[g].exponent - exponent;
    if (shift > kMaxShift) return false;
    multiples[g] = parts[g].odd * (std::int64_t{1} << shift);
    if (divisor == 0 || multiples[g] % divisor != 0) divisor = std::gcd(divisor, multiples[g]);
  }
  factors = {};
  if (divisor == 0) return true;
  for (std::int64_t& multiple : std::span(multiples).first(scales.size())) multiple /= divisor;
  const double base = std::ldexp(static_cast<double>(divisor), exponent);
  if (fit_factors(base, multiples, factors)) return true;
  for (std::int64_t& multiple : multiples) multiple = -multiple;  // -128 is an int8, 128 is none
  return fit_factors(-base, multiples, factors);
}

/// Stores a number at index `row` of an array of 64.
template <typename T>
void store_at(std::uint8_t* array, std::size_t row, T value) {
  std::memcpy(array + row * sizeof value, &value, sizeof value);
}
template <typename T>
T load_at(const std::uint8_t* array, std::size_t row) {
  T value = 0;
  std::memcpy(&value, array + row * sizeof value, sizeof value);
  return value;
}

/// The exponent bits of a power of two, or 0.
std::uint8_t shared_exponent(float scale) {
  return static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(scale) >> 23);
}
float power_of(std::uint8_t exponent) {
  return std::bit_cast<float>(std::uint32_t{exponent} << 23);
}

/// The number of a code of kE3m5 or kE4m3.
float factored_number(GroupScales how, std::uint8_t code) {
  return how == GroupScales::kE3m5 ? numerics::e3m5_number(code)
                                   : numerics::decode(numerics::kE4M3, code);
}

/// The code whose number times the factor is the scale, if there is one.
std::optional<std::uint8_t> factored_code(const ScaleForm& storage, float scale) {
  const double quotient = static_cast<double>(scale) / static_cast<double>(storage.factor);
  if (!std::isfinite(quotient) || quotient < 0) return std::nullopt;
  const auto code = storage.how == GroupScales::kE3m5
                        ? numerics::e3m5_code(quotient)
                        : static_cast<std::uint8_t>(
                              numerics::encode(numerics::kE4M3, static_cast<float>(quotient)));
  const bool is_exact = storage.factor * factored_number(storage.how, code) == scale;
  return is_exact ? std::optional(code) : std::nullopt;
}

/// Stores a scale that takes no other one to store. @return whether that is exact
bool store_scale(const ScaleForm& storage, float scale, std::size_t row, std::uint8_t* to) {
  if (storage.how == GroupScales::kFloat) {
    store_at(to, row, scale);
    return true;
  }
  if (!std::isfinite(scale)) return false;
  if (storage.how == GroupScales::kHalf) {
    const std::uint16_t half = half_from_float(scale);
    store_at(to, row, half);
    return float_from_half(half) == scale;
  }
  if (numerics::has_tensor_factor(storage.how)) {
    const auto code = factored_code(storage, scale);
    if (code) store_at(to, row, *code);
    return code.has_value();
  }
  const std::uint8_t exponent = shared_exponent(scale);
  store_at(to, row, exponent);
  return power_of(exponent) == scale;
}

}  // namespace

std::size_t group_scale_bytes(GroupScales how, std::size_t groups) {
  switch (how) {
    case GroupScales::kHalf:
      return groups * kStripRows * 2;
    case GroupScales::kHalfTimesByte:
      return (2 + groups) * kStripRows;
    case GroupScales::kPowerOfTwo:
    case GroupScales::kE3m5:
    case GroupScales::kE4m3:
      return groups * kStripRows;
    case GroupScales::kFloat:
      return groups * kStripRows * 4;
  }
  fail(ErrorKind::kInternal, "group scales: no such storage");
}

bool store_group_scales(const ScaleForm& storage, std::span<const float> scales, std::size_t row,
                        std::uint8_t* to) {
  HALFTONE_ASSERT(scales.size() <= kMaxBlockGroups);
  if (storage.how == GroupScales::kHalfTimesByte) {
    Factors factors;
    if (!factor_scales(scales, factors)) return false;
    store_at(to, row, factors.half);
    for (std::size_t g = 0; g < scales.size(); ++g) {
      store_at(to + (2 + g) * kStripRows, row, factors.bytes[g]);
    }
    return true;
  }
  const std::size_t group_bytes = group_scale_bytes(storage.how, 1);
  for (std::size_t g = 0; g < scales.size(); ++g, to += group_bytes) {
    if (!store_scale(storage, scales[g], row, to)) return false;
  }
  return true;
}

void load_group_scales(const ScaleForm& storage, const std::uint8_t* from, std::size_t row,
                       std::span<float> scales) {
  const GroupScales how = storage.how;
  const std::size_t group_bytes = group_scale_bytes(how, 1) - group_scale_bytes(how, 0);
  const std::uint8_t* at = from + group_scale_bytes(how, 0);
  for (std::size_t g = 0; g < scales.size(); ++g, at += group_bytes) {
    switch (how) {
      case GroupScales::kFloat:
        scales[g] = load_at<float>(at, row);
        break;
      case GroupScales::kHalf:
        scales[g] = float_from_half(load_at<std::uint16_t>(at, row));
        break;
      case GroupScales::kPowerOfTwo:
        scales[g] = power_of(load_at<std::uint8_t>(at, row));
        break;
      case GroupScales::kE3m5:
      case GroupScales::kE4m3:
        scales[g] = storage.factor * factored_number(how, load_at<std::uint8_t>(at, row));
        break;
      case GroupScales::kHalfTimesByte:
        scales[g] = float_from_half(load_at<std::uint16_t>(from, row)) *
                    static_cast<float>(load_at<std::int8_t>(at, row));
        break;
    }
  }
}

}  // namespace halftone::kernels
