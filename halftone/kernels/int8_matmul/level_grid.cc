// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/int8_matmul/level_grid.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "halftone/base/error.h"

namespace halftone::kernels {
namespace {

/// Steps within +-127, or for 8 bits from -128 to 127: as many as possible so that levels are
/// exact; if they cannot be, as many as for evenly spaced ones.
int activation_steps(const numerics::Levels& levels) {
  const int most = levels.bits() == 8 ? 255 : 254;
  const int exact = levels.codebook() == nullptr ? 0 : levels.codebook()->exact_steps(most);
  const int gaps = (1 << levels.bits()) - 1;
  return exact != 0 ? exact : most / gaps * gaps;
}

/// u of q = 0.
constexpr int middle_step(int steps) { return (steps + 1) / 2; }

}  // namespace

LevelGrid::LevelGrid(const numerics::Levels& levels, int steps) {
  HALFTONE_ASSERT(levels.bits() <= numerics::kMaxBits);
  const std::size_t num_codes = levels.num_codes();
  std::array<double, std::size_t{1} << numerics::kMaxBits> values{};
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (std::size_t code = 0; code < num_codes; ++code) {
    values[code] = levels.value(static_cast<numerics::Code>(code));
    if (!std::isfinite(values[code])) continue;
    low = std::min(low, values[code]);
    high = std::max(high, values[code]);
  }
  const double step = (high - low) / steps;
  for (std::size_t code = 0; code < num_codes && step != 0; ++code) {
    if (!std::isfinite(values[code])) continue;
    u[code] = static_cast<std::uint8_t>(std::lround((values[code] - low) / step));
  }
  center = static_cast<float>((low + high) / 2);
  half_step = static_cast<float>(step / 2);
}

LevelGrid weight_grid(const numerics::Levels& levels) {
  const int steps = levels.codebook() == nullptr ? numerics::weight_steps(levels.bits())
                                                 : levels.codebook()->weight_steps();
  if (!levels.is_summed() || levels.bits() > numerics::kMaxSummedBits) return {levels, steps};
  const numerics::Basis basis = levels.basis();
  LevelGrid grid;
  const auto k = numerics::integer_coefficients(basis, steps);
  double range = 0;
  for (const float a : basis.a()) range += std::abs(double{a});
  grid.center = basis.offset;
  grid.half_step = static_cast<float>(range / steps);
  for (std::size_t code = 0; code < basis.num_levels(); ++code) {
    int u = 0;
    for (std::size_t j = 0; j < basis.a().size(); ++j) {
      if ((code >> j & 1) != (k[j] < 0 ? 1 : 0)) u += std::abs(k[j]);
    }
    grid.u[code] = static_cast<std::uint8_t>(u);
  }
  return grid;
}

std::int32_t common_factor(const numerics::MatrixEncoding& encoding) {
  constexpr int kMaxSmallBits = 4;
  if (encoding.bits > kMaxSmallBits) return 1;
  const std::int32_t steps = encoding.weight_steps();
  const std::int32_t factor = steps / ((1 << encoding.bits) - 1);
  const auto is_multiple = [factor](std::uint8_t u) { return u % factor == 0; };
  for (std::size_t block = 0; block < encoding.num_blocks(); ++block) {
    if (!std::ranges::all_of(weight_grid(encoding.levels(block)).u, is_multiple)) return 1;
  }
  return factor;
}

Int8Levels::Int8Levels(const numerics::Levels& levels) {
  const int steps = activation_steps(levels);
  const LevelGrid grid(levels, steps);
  const int middle = middle_step(steps);
  scale = 2 * grid.half_step;
  offset = grid.center + grid.half_step * static_cast<float>(2 * middle - steps);
  const bool is_exact =
      levels.codebook() != nullptr && levels.codebook()->exact_steps(steps) == steps;
  for (std::size_t code = 0; code < levels.num_codes(); ++code) {
    q[code] = static_cast<std::int8_t>(grid.u[code] - middle);
    // Such a level is on the grid, so that its own value is the most exact.
    if (is_exact && q[code] == 0) offset = levels.value(static_cast<numerics::Code>(code));
  }
}

}  // namespace halftone::kernels
