// SPDX-License-Identifier: Apache-2.0
// Numbers shared by the vector functions and their scalar references.
#pragma once

namespace halftone::kernels::math_constants {

/// Adding and subtracting 1.5 2^23 rounds to an integer, ties to even, and leaves the integer in
/// the low bits of the sum.
inline constexpr float kRoundMagic = 12582912.0F;

// e^x = 2^k e^r with k = round(x log2(e)), r = x - k ln 2, |r| <= ln(2) / 2. ln 2 is split so that
// k kLn2High is exact: 9 significant bits times at most 8.
inline constexpr float kLog2E = 1.44269504F;
inline constexpr float kLn2High = 0.693359375F;
inline constexpr float kLn2Low = -2.12194440e-4F;
/// e^x rounds to 0 below and overflows above.
inline constexpr float kExpLow = -104.0F;
inline constexpr float kExpHigh = 89.0F;
/// e^r = 1 + r + r^2 P(r): Chebyshev interpolation of P on |r| <= 0.347, error 6.6e-8 of P, so at
/// most 8e-9 of e^r. Highest power first.
inline constexpr float kExp[] = {1.3926250394e-3F, 8.3632329479e-3F, 4.1666552424e-2F,
                                 1.6666576266e-1F, 0.5F};

/// Below, tanh x = x + x z P(z) with z = x^2: Chebyshev interpolation of P, error 1.3e-8 of P, so
/// at most 4e-9 of tanh x. From there on tanh x = 1 - 2 / (e^(2x) + 1).
inline constexpr float kTanhSplit = 0.55F;
inline constexpr float kTanh[] = {-6.6102277488e-3F, 2.1309388801e-2F, -5.3909428418e-2F,
                                  1.3333113492e-1F, -3.3333331347e-1F};
/// tanh x rounds to 1 from here on.
inline constexpr float kTanhHigh = 10.0F;

}  // namespace halftone::kernels::math_constants
