// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/integer_grid.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "halftone/base/error.h"

namespace halftone::numerics {
namespace {

/// |a_1| + ... + |a_K|, half of the distance between the lowest and the highest level.
double half_range(const Basis& basis) {
  double sum = 0;
  for (const float a : basis.a()) sum += std::abs(double{a});
  return sum;
}

constexpr std::int64_t kOne = std::int64_t{1} << 31;

}  // namespace

std::array<int, kMaxBits> integer_coefficients(const Basis& basis, int steps) {
  const double sum = half_range(basis);
  std::array<int, kMaxBits> k{};
  if (sum == 0) return k;
  std::array<double, kMaxBits> lost{};
  int missing = steps;
  for (std::size_t j = 0; j < basis.a().size(); ++j) {
    const double exact = std::abs(double{basis.a()[j]}) * steps / sum;
    k[j] = static_cast<int>(exact);
    lost[j] = exact - k[j];
    missing -= k[j];
  }
  for (; missing > 0; --missing) {
    std::size_t most = 0;
    for (std::size_t j = 1; j < basis.a().size(); ++j) {
      if (lost[j] >= lost[most]) most = j;
    }
    ++k[most];
    lost[most] -= 1;
  }
  for (std::size_t j = 0; j < basis.a().size(); ++j) {
    if (std::signbit(basis.a()[j])) k[j] = -k[j];
  }
  return k;
}

Basis on_integer_grid(const Basis& basis) {
  constexpr int kMinRoundedBits = 3;
  if (basis.bits < kMinRoundedBits || basis.bits > kMaxSummedBits) return basis;
  const int steps = weight_steps(basis.bits);
  const auto k = integer_coefficients(basis, steps);
  const double half_step = half_range(basis) / steps;
  Basis rounded = basis;
  for (std::size_t j = 0; j < basis.a().size(); ++j) {
    rounded.coefficients[j] = static_cast<float>(k[j] * half_step);
  }
  return rounded;
}

FixedMultiplier fixed_multiplier(double m) {
  HALFTONE_ASSERT(m >= 0 && m < kFixedMultiplierEnd);
  if (m < 0x1p-32) return {};
  int shift = 0;
  const double fraction = std::frexp(m, &shift);
  const auto mantissa = static_cast<std::int64_t>(std::round(fraction * static_cast<double>(kOne)));
  if (mantissa == kOne) return {static_cast<std::int32_t>(kOne / 2), shift + 1};
  return {static_cast<std::int32_t>(mantissa), shift};
}

FixedMultiplier divided(FixedMultiplier m, std::int64_t count) {
  HALFTONE_ASSERT(count > 0 && m.shift >= -31);
  const auto log2 =
      static_cast<std::int32_t>(std::bit_width(static_cast<std::uint64_t>(count))) - 1;
  const std::int32_t bits = std::min({log2, 32, 31 + m.shift});
  return {static_cast<std::int32_t>((std::int64_t{m.mantissa} << bits) / count), m.shift - bits};
}

std::int32_t shifted_right(std::int32_t x, std::int32_t bits) {
  const auto mask = static_cast<std::int32_t>((std::int64_t{1} << bits) - 1);
  const std::int32_t threshold = (mask >> 1) + (x < 0 ? 1 : 0);
  return (x >> bits) + ((x & mask) > threshold ? 1 : 0);
}

std::int32_t multiply(std::int32_t x, FixedMultiplier m) {
  const std::int32_t left = std::max(m.shift, 0);
  const auto wide = static_cast<std::int32_t>(static_cast<std::uint32_t>(x) << left);
  const std::int64_t product = std::int64_t{wide} * m.mantissa;
  const auto high = static_cast<std::int32_t>((product + kOne / 2) >> 31);
  return shifted_right(high, std::max(-m.shift, 0));
}

}  // namespace halftone::numerics
