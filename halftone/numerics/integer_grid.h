// SPDX-License-Identifier: Apache-2.0
// The 8-bit integers that kernels compute with in place of levels.
#pragma once

#include <array>

#include "halftone/numerics/basis.h"

namespace halftone::numerics {

/// The most steps of a grid for levels of weights: those of 7 bits, for more than 4 bits 8 bits.
/// Products of 7 bits with activations need no wider registers, and four bits have at most 16
/// levels: half a step is a sixteenth of the distance between two of them, if they are about evenly
/// spaced.
constexpr int most_weight_steps(int bits) { return bits <= 4 ? 127 : 255; }

/// Steps of the grid for learned levels of weights of K bits, and for levels that are on no grid:
/// the largest multiple of 2^K - 1 within most_weight_steps(), 120 to 127 or 248 to 255.
constexpr int weight_steps(int bits) {
  return most_weight_steps(bits) / ((1 << bits) - 1) * ((1 << bits) - 1);
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
