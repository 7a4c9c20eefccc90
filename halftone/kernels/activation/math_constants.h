// SPDX-License-Identifier: Apache-2.0
// Constants shared by the vector functions and their scalar references.
#pragma once

#include <cstdint>

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

// The following polynomials are best approximations in the sense of Chebyshev, found by Remez'
// exchange and rounded to float32; errors are those after rounding.

/// log(1 + t) = t - t^2 P(t), 0 <= t <= 1, error 1e-8 of the logarithm.
inline constexpr float kLog1P[] = {3.868146334e-3F,  -2.270654216e-2F, 6.241425499e-2F,
                                   -1.116718352e-1F, 1.564595252e-1F,  -1.979707778e-1F,
                                   2.497840077e-1F,  -3.333238959e-1F, 0.5F};

/// e^x - 1 rounds to -1 below.
inline constexpr float kExpMinus1Low = -25.0F;

/// x / (1 + e^-x) rounds to 0 below the negative.
inline constexpr float kSiluHigh = 110.0F;

/// Below, erf x = x + x P(x^2), error 2.2e-8 of erf x. From there to kErfHigh, where it rounds to
/// 1, erf x = 1 - e^Q(x), error 1.1e-8 of erf x.
inline constexpr float kErfSplit = 0.85F;
inline constexpr float kErfHigh = 4.0F;
inline constexpr float kErf[] = {-6.332610501e-4F, 5.054271780e-3F,  -2.680457197e-2F,
                                 1.128277034e-1F,  -3.761257529e-1F, 1.283791661e-1F};
inline constexpr float kLogErfc[] = {2.036733058e-4F,  -3.117823740e-3F, 2.251894586e-2F,
                                     -1.045257300e-1F, -6.365191340e-1F, -1.128060937F,
                                     -1.045472600e-4F};

/// The normal distribution's tail Phi(-a) = e^(-a^2 / 2) P(a) / Q(a), 0 <= a <= kGeluHigh, relative
/// error 5.5e-8. No coefficient is negative, so there is no cancellation. From kGeluHigh on,
/// -a Phi(-a) rounds to 0.
inline constexpr float kTailP[] = {2.515075495e-3F, 3.037538379e-2F, 1.536713392e-1F,
                                   3.997922242e-1F, 0.5F};
inline constexpr float kTailQ[] = {6.304068957e-3F, 7.615431398e-2F, 3.911943138e-1F,
                                   1.081954002F,    1.597467303F,    1.0F};
inline constexpr float kGeluHigh = 15.0F;
/// Keeps 12 of the 24 binary digits of a float: their square is exact.
inline constexpr std::uint32_t kHighDigits = 0xFFFFF000;

/// 2 sqrt(2 / pi), and 0.044715 times that; the function rounds to 0 below -kGeluTanhHigh.
inline constexpr float kGeluTanhLinear = 1.595769122F;
inline constexpr float kGeluTanhCubic = 7.135481283e-2F;
inline constexpr float kGeluTanhHigh = 11.5F;

}  // namespace halftone::kernels::math_constants
