// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/digits.h"

#include <cstdint>
#include <limits>
#include <optional>

namespace halftone::numerics {
namespace {

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
