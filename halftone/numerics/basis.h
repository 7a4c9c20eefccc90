// SPDX-License-Identifier: Apache-2.0
// The learned basis, the number system at the centre of Halftone, and the digits in which kernels
// count its planes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/numerics/codebook.h"

namespace halftone::numerics {

/// A number system of K bits: x = c + a_1 b_1 + ... + a_K b_K with b_i in {-1, +1}.
/// Bit i of a code is set for +a[i], clear for -a[i].
/// The 2^K levels need not be evenly spaced; they are for a_i = s 2^(i-1) (see affine_basis()).
/// Source: Zhang et al., LQ-Nets, ECCV 2018 (arXiv:1807.10029), Sec. 3.1.
/// Differs: has an offset c.
struct Basis {
  int bits = 1;                                ///< K, 1 to kMaxBits
  std::array<float, kMaxBits> coefficients{};  ///< a; only the first `bits` are used
  float offset = 0;                            ///< c

  [[nodiscard]] std::span<const float> a() const {
    return {coefficients.data(), static_cast<std::size_t>(bits)};
  }
  [[nodiscard]] std::size_t num_levels() const { return std::size_t{1} << bits; }
  /// The value of a code: ((+-a[0] +- a[1]) +- ...) + c, added in this order in float32.
  [[nodiscard]] float value(Code code) const;

  bool operator==(const Basis&) const = default;
};

/// @throws Error kUsage unless a basis may have so many bits, 1 to kMaxBits
void check_basis_bits(int bits);
/// @param a  [K] coefficients, 1 <= K <= kMaxBits, any sign, finite
/// @throws Error kUsage if K is out of range or a number is not finite
Basis make_basis(std::span<const float> a, float offset = 0);

/// Unsigned integers q in [0, 2^K) with x = scale (q - zero_point), as a basis:
/// a_i = scale 2^(i-1), c = scale ((2^K - 1) / 2 - zero_point); the code is q.
/// @throws Error kUsage if bits are out of range or a parameter or coefficient is not finite (also
///         below)
Basis affine_basis(int bits, float scale, float zero_point);
/// The affine basis whose lowest level is `low` and whose highest is `high`.
/// @pre low <= high; equal bounds give the one level `low`
Basis range_basis(int bits, float low, float high);
/// Levels at the odd multiples of scale / 2, symmetric about zero, no offset.
Basis symmetric_basis(int bits, float scale);
/// Two's complement fixed point of K bits with step 2^-fraction_bits: q in [-2^(K-1), 2^(K-1)).
Basis fixed_point_basis(int bits, int fraction_bits);

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
