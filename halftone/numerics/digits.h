// SPDX-License-Identifier: Apache-2.0
// Groups planes of a basis into digits that kernels count together.
#pragma once

#include <array>
#include <cstddef>
#include <vector>

#include "halftone/numerics/basis.h"

namespace halftone::numerics {

/// The largest sum p + q of a ratio p : q of coefficients whose planes share a digit.
inline constexpr int kMaxReach = 7;

/// One or two planes of a basis whose coefficients are small multiples of a common unit:
/// sum_i a_i b_i = unit X with the integer X = sum_i m_i b_i, |X| <= reach.
struct Digit {
  std::array<std::size_t, 2> planes{};
  std::array<int, 2> multiples{1, 0};  ///< m, of the planes; positive in a digit of two
  float unit = 0;                      ///< a_i = m_i unit in float32

  [[nodiscard]] std::size_t num_planes() const { return multiples[1] == 0 ? 1 : 2; }
  [[nodiscard]] int reach() const { return multiples[0] + multiples[1]; }
};

/// Splits the planes of a basis into as few digits as possible. Two planes share a digit if their
/// coefficients are positive and in a ratio p : q with p + q <= kMaxReach, e.g. evenly spaced
/// levels of two bits (1 : 2) or learned levels with a rounded ratio. A plane without a partner is
/// a digit by itself.
/// @param inputs  number of terms X in a sum; the sum of their reaches stays below 2^16
std::vector<Digit> split_digits(const numerics::Basis& basis, std::size_t inputs);

}  // namespace halftone::numerics
