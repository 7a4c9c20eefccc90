// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/basis.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>

#include "halftone/base/error.h"

namespace halftone::numerics {
namespace {

void check_finite(float number, const char* what) {
  if (!std::isfinite(number)) {
    fail(ErrorKind::kUsage, std::string(what) + " of a basis: expected a finite number, found " +
                                std::to_string(number));
  }
}

/// Joins two planes by the smallest ratio p : q of their coefficients, if there is one.
std::optional<Digit> join(std::size_t i, float a, std::size_t j, float b) {
  if (!(a > 0) || !(b > 0)) return std::nullopt;
  for (int reach = 2; reach <= kMaxReach; ++reach) {
    for (int p = 1; p < reach; ++p) {
      const auto q = static_cast<float>(reach - p);
      const float unit = a / static_cast<float>(p);
      if (unit * static_cast<float>(p) == a && unit * q == b) {
        return Digit{{i, j}, {p, reach - p}, unit};
      }
    }
  }
  return std::nullopt;
}

}  // namespace

void check_basis_bits(int bits) {
  if (bits < 1 || bits > kMaxBits) {
    fail(ErrorKind::kUsage, "bits of a basis: expected 1 to " + std::to_string(kMaxBits) +
                                ", found " + std::to_string(bits));
  }
}

float Basis::value(Code code) const {
  float sum = (code & 1) != 0 ? coefficients[0] : -coefficients[0];
  for (std::size_t i = 1; i < static_cast<std::size_t>(bits); ++i) {
    sum += (code >> i & 1) != 0 ? coefficients[i] : -coefficients[i];
  }
  return sum + offset;
}

Basis make_basis(std::span<const float> a, float offset) {
  check_basis_bits(static_cast<int>(std::min<std::size_t>(a.size(), kMaxBits + 1)));
  for (const float coefficient : a) check_finite(coefficient, "coefficient");
  check_finite(offset, "offset");
  Basis basis;
  basis.bits = static_cast<int>(a.size());
  std::copy(a.begin(), a.end(), basis.coefficients.begin());
  basis.offset = offset;
  return basis;
}

Basis affine_basis(int bits, float scale, float zero_point) {
  check_basis_bits(bits);
  check_finite(scale, "scale");
  check_finite(zero_point, "zero point");
  Basis basis;
  basis.bits = bits;
  for (int i = 0; i < bits; ++i) {
    basis.coefficients[static_cast<std::size_t>(i)] = std::ldexp(scale, i - 1);
  }
  const float middle = static_cast<float>(basis.num_levels() - 1) / 2;
  // make_basis() checks the coefficients, which overflow if the scale is large.
  return make_basis(basis.a(), scale * (middle - zero_point));
}

Basis range_basis(int bits, float low, float high) {
  HALFTONE_ASSERT(low <= high);
  check_basis_bits(bits);
  check_finite(low, "low end");
  check_finite(high, "high end");
  const auto steps = static_cast<float>((1 << bits) - 1);
  Basis basis = affine_basis(bits, high / steps - low / steps, 0);
  basis.offset = low / 2 + high / 2;
  return basis;
}

Basis symmetric_basis(int bits, float scale) {
  Basis basis = affine_basis(bits, scale, 0);
  basis.offset = 0;
  return basis;
}

Basis fixed_point_basis(int bits, int fraction_bits) {
  check_basis_bits(bits);
  return affine_basis(bits, std::ldexp(1.0F, -fraction_bits), static_cast<float>(1 << (bits - 1)));
}

std::vector<Digit> split_digits(const numerics::Basis& basis, std::size_t inputs) {
  constexpr std::size_t kMaxSum = std::numeric_limits<std::uint16_t>::max();
  const auto a = basis.a();
  std::vector<Digit> digits;
  std::vector<bool> taken(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (taken[i]) continue;
    Digit digit{{i, 0}, {1, 0}, a[i]};
    for (std::size_t j = i + 1; j < a.size(); ++j) {
      if (taken[j]) continue;
      const auto joined = join(i, a[i], j, a[j]);
      if (!joined || static_cast<std::size_t>(joined->reach()) * inputs > kMaxSum) continue;
      digit = *joined;
      taken[j] = true;
      break;
    }
    digits.push_back(digit);
  }
  return digits;
}

}  // namespace halftone::numerics
