// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/int8_matmul/level_grid.h"

#include <algorithm>
#include <cmath>

#include "halftone/base/bits.h"

namespace halftone::kernels {
namespace {

/// The largest even number of steps within +-127 that has evenly spaced levels on it.
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

Int8Levels::Int8Levels(const numerics::Basis& basis) {
  const int steps = activation_steps(basis.bits);
  const LevelGrid grid(basis, steps);
  scale = 2 * grid.half_step;
  offset = grid.center;
  for (std::size_t code = 0; code < basis.num_levels(); ++code) {
    q[code] = static_cast<std::int8_t>(grid.u[code] - steps / 2);
  }
}

void decode_int8(std::span<const std::uint64_t> planes, int bits, const Int8Levels& levels,
                 MatrixView<std::int8_t> q) noexcept {
  const auto num_planes = static_cast<std::size_t>(bits);
  const std::size_t words = words_for_bits(q.cols());
  HALFTONE_ASSERT(planes.size() == q.rows() * num_planes * words);
  for (std::size_t r = 0; r < q.rows(); ++r) {
    const auto row = planes.subspan(r * num_planes * words, num_planes * words);
    std::int8_t* to = q.row(r).data();
    for (std::size_t first = 0; first < q.cols(); first += 8) {
      std::uint64_t eight = 0;  // codes, a byte each
      for (std::size_t j = 0; j < num_planes; ++j) {
        const std::uint64_t word = row[j * words + first / 64];
        eight |= spread_bits(static_cast<std::uint8_t>(word >> (first % 64))) << j;
      }
      const std::size_t last = std::min(first + 8, q.cols());
      for (std::size_t i = first; i < last; ++i, eight >>= 8) to[i] = levels.q[eight & 255];
    }
  }
}

}  // namespace halftone::kernels
