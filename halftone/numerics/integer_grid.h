// SPDX-License-Identifier: Apache-2.0
// The 8-bit integers that kernels compute with in place of levels.
#pragma once

#include <array>

#include "halftone/numerics/basis.h"

namespace halftone::numerics {

/// Steps of the grid for levels of weights of K bits: the largest multiple of 2^K - 1 that fits 7
/// bits (120 to 127), for more than 4 bits 8 bits (248 to 255). Products of 7 bits with activations
/// need no wider registers, and four bits have at most 16 levels: half a step is a sixteenth of the
/// distance between two of them, if they are about evenly spaced. The grid of activations has the
/// same steps or half of their length.
constexpr int weight_steps(int bits) {
  const int max_level = bits <= 4 ? 127 : 255;
  return max_level / ((1 << bits) - 1) * ((1 << bits) - 1);
}

/// The most bits whose weights are sums of integer coefficients on their grid. Beyond, rounding
/// each coefficient would cost noticeably more than rounding each level.
inline constexpr int kMaxSummedBits = 6;

/// The coefficients of a basis as integers with their signs: a_j ~ half_step k_j, and the |k_j| add
/// up to steps. Rounded down; those that lose most get what is missing, later ones first. Each is
/// off by less than 1. All are 0 if all a_j are.
/// @param basis  finite
/// @param steps  > 0
/// @return  [K]; zeros behind them
std::array<int, kMaxBits> integer_coefficients(const Basis& basis, int steps);

/// The basis whose coefficients are exactly its integer_coefficients() on the grid of
/// weight_steps(), in float32: what kernels round to. The levels of 1 and 2 bits are so far apart
/// that the difference does not matter, those of more than kMaxSummedBits are rounded one by one;
/// both stay as they are.
Basis on_integer_grid(const Basis& basis);

}  // namespace halftone::numerics
