// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/integer_grid.h"

#include <cmath>

namespace halftone::numerics {
namespace {

/// |a_1| + ... + |a_K|, half of the distance between the lowest and the highest level.
double half_range(const Basis& basis) {
  double sum = 0;
  for (const float a : basis.a()) sum += std::abs(double{a});
  return sum;
}

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

}  // namespace halftone::numerics
