// SPDX-License-Identifier: Apache-2.0
// Levels as integers of 8 bits.
#pragma once

#include <array>
#include <cstdint>

#include "halftone/numerics/encoding.h"
#include "halftone/numerics/integer_grid.h"

namespace halftone::kernels {

/// The levels of a block on a grid: level ~ center + half_step (2 u - steps), u an integer from 0
/// to steps. If steps is a multiple of 2^K - 1, evenly spaced levels are on it exactly.
struct LevelGrid {
  float center = 0;     ///< of the lowest and the highest level; 0 without offset
  float half_step = 0;  ///< (highest - lowest) / (2 steps)
  std::array<std::uint8_t, std::size_t{1} << numerics::kMaxBits> u{};  ///< of each code

  LevelGrid() = default;
  /// Takes the nearest point of the grid for each level: within half_step. Codes of no number have
  /// u = 0.
  LevelGrid(const numerics::Levels& levels, int steps);
};

/// The levels of weights on a grid of MatrixEncoding::weight_steps(). Up to
/// numerics::kMaxSummedBits, levels that are sums of coefficients are sums of
/// numerics::integer_coefficients(): 2 u - steps = sum_j +-k_j. Then they can be multiplied bit by
/// bit, with the same integer results. Each other level is rounded to the nearest.
LevelGrid weight_grid(const numerics::Levels& levels);

/// The common factor of all levels u of weights on their grids of weight_steps(), if
/// these have at most 4 bits and are evenly spaced: u / factor is at most 15. Otherwise 1.
std::int32_t common_factor(const numerics::MatrixEncoding& encoding);

/// The levels of activations as 8-bit integers with a sign: level ~ offset + scale q, within
/// scale / 2, at most 1/480 of the range of the levels; exact if they are on a grid of at most 254
/// steps (255 for 8 bits), as evenly spaced ones are.
struct Int8Levels {
  float scale = 0;
  float offset = 0;
  std::array<std::int8_t, std::size_t{1} << numerics::kMaxBits>
      q{};  ///< of each code; -128 only for 8 bits

  explicit Int8Levels(const numerics::Levels& levels);
};

}  // namespace halftone::kernels
