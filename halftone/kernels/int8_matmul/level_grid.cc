// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/int8_matmul/level_grid.h"

#include <algorithm>
#include <cmath>

namespace halftone::kernels {
namespace {

/// The largest even number of steps within +-127 on which evenly spaced levels are exact.
constexpr int activation_steps(int bits) {
  const int gaps = (1 << bits) - 1;
  return gaps > 254 ? 254 : 254 / gaps * gaps;
}
static_assert(activation_steps(1) == 254 && activation_steps(2) == 252);
static_assert(activation_steps(4) == 240 && activation_steps(8) == 254);

}  // namespace

LevelGrid::LevelGrid(const numerics::Basis& basis, int steps) {
  const std::size_t num_levels = basis.num_levels();
  std::array<double, std::size_t{1} << numerics::kMaxBits> levels{};
  for (std::size_t code = 0; code < num_levels; ++code) {
    levels[code] = basis.value(static_cast<numerics::Code>(code));
  }
  const auto [low, high] = std::minmax_element(levels.begin(), levels.begin() + num_levels);
  const double step = (*high - *low) / steps;
  for (std::size_t code = 0; code < num_levels && step != 0; ++code) {
    u[code] = static_cast<std::uint8_t>(std::lround((levels[code] - *low) / step));
  }
  center = static_cast<float>((*low + *high) / 2);
  half_step = static_cast<float>(step / 2);
}

std::int32_t common_factor(const numerics::BasisEncoding& encoding) {
  constexpr int kMaxSmallBits = 4;
  if (encoding.bits > kMaxSmallBits) return 1;
  const std::int32_t steps = weight_steps(encoding.bits);
  const std::int32_t factor = steps / ((1 << encoding.bits) - 1);
  const auto is_multiple = [factor](std::uint8_t u) { return u % factor == 0; };
  for (const numerics::Basis& basis : encoding.bases) {
    if (!std::ranges::all_of(LevelGrid(basis, steps).u, is_multiple)) return 1;
  }
  return factor;
}

Int8Levels::Int8Levels(const numerics::Basis& basis) {
  const int steps = activation_steps(basis.bits);
  const LevelGrid grid(basis, steps);
  scale = 2 * grid.half_step;
  offset = grid.center;
  for (std::size_t code = 0; code < basis.num_levels(); ++code) {
    q[code] = static_cast<std::int8_t>(grid.u[code] - steps / 2);
  }
}

}  // namespace halftone::kernels
