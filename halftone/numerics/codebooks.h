// SPDX-License-Identifier: Apache-2.0
// The codebooks of known number systems. systems.h gives them names.
#pragma once

#include <string>

#include "halftone/numerics/codebook.h"

namespace halftone::numerics {

/// K-bit two's complement, the code shifted by 2^(K-1) so that levels ascend with codes:
///     level[q] = q - 2^(K-1)
Codebook signed_integers(std::string name, int bits);
/// The same without the lowest level, which no number is encoded to: -(2^(K-1) - 1) to 2^(K-1) - 1.
/// @pre bits >= 2
Codebook narrow_integers(std::string name, int bits);
/// level[q] = q
Codebook unsigned_integers(std::string name, int bits);
/// The same with zero points.
Codebook zero_point_integers(std::string name, int bits);
/// Odd multiples of 1/2, without zero: level[q] = q - (2^K - 1) / 2
Codebook half_integers(std::string name, int bits);
/// signed_integers() times 2^(2-K): from -2 to 2 - 2^(2-K).
Codebook signed_fractions(std::string name, int bits);

/// -1, 0, 0, 1. Three numbers stored in two bits, each bit +1/2 or -1/2. Zero is code 01.
/// Source: Li, Liu, Ternary Weight Networks, 2016 (arXiv:1605.04711).
Codebook ternary(std::string name);

/// A sign and a power of two or zero. With the top bit s and m of K - 1 bits, N = 2^(K-1) - 1:
///     level = (-1)^s 2^(m - N) if m > 0, else (-1)^s 0
/// Numbers midway between levels take the one nearer to zero.
/// Source: Li et al., Additive Powers-of-Two Quantization, ICLR 2020 (arXiv:1909.13144), eq. 2.
/// @pre 2 <= bits <= 8
Codebook powers_of_two(std::string name, int bits);

/// A sign and a sum of powers of two or zeros, one of each of n sets. K - 1 = 2n or 2n + 1 bits:
///
///     level = (-1)^s sum_j p_j,   p_j in {0, 2^-j, 2^-(j+n), 2^-(j+2n)}, j = 0 ... n-1
///
/// An odd number of bits has one more set {0, 2^-2n}, and 2^-(j+2n+1) in place of 2^-(j+2n). Set j
/// is selected by bits 2j and 2j + 1 of the code. Numbers midway take the level nearer to zero.
/// Source: Li et al. (see powers_of_two()), eq. 5. Differs: the largest level is not scaled to 1.
/// @pre 2 <= bits <= 8
Codebook additive_powers_of_two(std::string name, int bits);

/// A sign and a power of the square root of two or zero: as powers_of_two() with
///     level = (-1)^s 2^((m - N) / 2)
/// rounded to float32. Logarithms are rounded: thresholds are geometric means of levels, and the
/// one below the smallest level 2^(-1/4) of it.
/// Source: Miyashita, Lee, Murmann, Convolutional Neural Networks using Logarithmic Data
/// Representation, 2016 (arXiv:1603.01025), sections 3 and 5.3.
/// @pre 2 <= bits <= 8
Codebook logarithmic(std::string name, int bits);

/// 2^(q - 127), q up to 254; 255 is NaN. Numbers midway take the larger level.
/// Source: OCP MX 1.0, section 5.4.1; ties as in ml_dtypes.
Codebook exponents(std::string name);

/// 16 quantiles of the normal distribution, from -1 to 1, with 0.
/// Source: Dettmers et al., QLoRA, 2023 (arXiv:2305.14314), appendix E; levels and thresholds as in
/// bitsandbytes.
Codebook normal_floats(std::string name);

/// posit(K, 2) of the 2022 standard: a sign, a run of r equal bits and its end, two bits of an
/// exponent e, the rest a fraction f in [0, 1). Negative numbers are the two's complement.
///     level = (1 + f) 2^(4 k + e),   k = r - 1 for ones, -r for zeros;   10...0: NaN
/// The bit string is rounded to nearest, ties to even, never to 0 or NaN: between neighbours p and
/// p + 1 the threshold is the posit of K + 1 bits 2p + 1.
/// Source: Standard for Posit Arithmetic (2022), sections 3 and 4.1.
/// @pre 3 <= bits <= kMaxCodeBits
Codebook posits(std::string name, int bits);

}  // namespace halftone::numerics
