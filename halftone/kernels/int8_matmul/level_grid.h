// SPDX-License-Identifier: Apache-2.0
// Levels as integers of 8 bits.
#pragma once

#include <array>
#include <cstdint>

#include "halftone/numerics/encoding.h"

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

/// The coefficients of a basis as integers with their signs: a_j ~ half_step k_j, and the |k_j| add
/// up to steps. Rounded down; those that lose most get what is missing, later ones first. Each is
/// off by less than 1. All are 0 if all a_j are.
std::array<int, numerics::kMaxBits> integer_coefficients(const numerics::Basis& basis, int steps);

/// The most bits whose weights are sums of integer coefficients on their grid. Beyond, rounding
/// each coefficient would cost noticeably more than rounding each level.
inline constexpr int kMaxSummedBits = 6;

/// The levels of weights on a grid of weight_steps(). Up to kMaxSummedBits, levels that are sums of
/// coefficients are sums of integer_coefficients(): 2 u - steps = sum_j +-k_j. Then they can be
/// multiplied bit by bit, with the same integer results. Each other level is rounded to the
/// nearest.
LevelGrid weight_grid(const numerics::Levels& levels);

/// Steps for weights of K bits: the largest multiple of 2^K - 1 that fits 7 bits (120 to 127), for
/// more than 4 bits 8 bits (248 to 255). Products of 7 bits with activations need no wider
/// registers, and four bits have at most 16 levels: half a step is a sixteenth of the distance
/// between two of them, if they are about evenly spaced.
constexpr int weight_steps(int bits) {
  const int max_level = bits <= 4 ? 127 : 255;
  return max_level / ((1 << bits) - 1) * ((1 << bits) - 1);
}

/// The common factor of all levels u of weights on their grids of weight_steps(), if these have at
/// most 4 bits and are evenly spaced: u / factor is at most 15. Otherwise 1.
std::int32_t common_factor(const numerics::MatrixEncoding& encoding);

/// The levels of activations as 8-bit integers with a sign: level ~ offset + scale q, within
/// scale / 2, at most 1/480 of the range of the levels; exact where they are evenly spaced.
struct Int8Levels {
  float scale = 0;
  float offset = 0;
  std::array<std::int8_t, std::size_t{1} << numerics::kMaxBits>
      q{};  ///< of each code; -128 only for 8 bits

  explicit Int8Levels(const numerics::Levels& levels);
};

}  // namespace halftone::kernels
