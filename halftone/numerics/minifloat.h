// SPDX-License-Identifier: Apache-2.0
// Floating point formats of a few bits, and rounding of float32 values to them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

#include "halftone/base/random.h"

namespace halftone::numerics {

/// The codes that represent no finite number.
enum class Specials : std::uint8_t {
  kInfinityAndNan,  ///< all with the largest exponent: mantissa 0 is infinity, others are NaN
  kNan,             ///< only NaN: exponent and mantissa are all ones
  kOneNan,          ///< only NaN, in the place of -0, which does not exist
  kNone,            ///< none
};

/// A floating point format. A code consists of, from the top, a sign s, an exponent field e of E
/// bits and a mantissa m of M bits. Unless it is special, its value is
///
///     (-1)^s 2^(e - bias) (1 + m / 2^M)     if e > 0
///     (-1)^s 2^(1 - bias) m / 2^M           if e = 0 (subnormal)
///
/// @pre 2 <= E <= 8, 1 <= M <= 23, and every finite number is a float32
struct Minifloat {
  int exponent_bits;  ///< E
  int mantissa_bits;  ///< M
  int bias;
  Specials specials;

  [[nodiscard]] constexpr int bits() const { return 1 + exponent_bits + mantissa_bits; }
  bool operator==(const Minifloat&) const = default;
};

/// The system with the bias of IEEE 754, 2^(E - 1) - 1.
constexpr Minifloat minifloat(int exponent_bits, int mantissa_bits, Specials specials) {
  return {exponent_bits, mantissa_bits, (1 << (exponent_bits - 1)) - 1, specials};
}

/// IEEE 754-2019, table 3.5; base/half.h converts between it and float32 without a Minifloat.
inline constexpr Minifloat kBinary16 = minifloat(5, 10, Specials::kInfinityAndNan);
/// bfloat16, the upper half of a float32.
inline constexpr Minifloat kE8M7 = minifloat(8, 7, Specials::kInfinityAndNan);
/// Source: OCP 8-bit Floating Point Specification (OFP8) 1.0, 2023; Micikevicius et al.,
/// FP8 Formats for Deep Learning, 2022 (arXiv:2209.05433). E4M3 is what ONNX calls FLOAT8E4M3FN.
inline constexpr Minifloat kE4M3 = minifloat(4, 3, Specials::kNan);
inline constexpr Minifloat kE5M2 = minifloat(5, 2, Specials::kInfinityAndNan);
/// "fnuz": finite, NaN in the place of -0, and a bias larger by one. What AMD's MI300 computes
/// with. Source: Noune et al., 8-bit Numerical Formats for Deep Neural Networks, 2022
/// (arXiv:2206.02915).
inline constexpr Minifloat kE4M3Fnuz = {4, 3, 8, Specials::kOneNan};
inline constexpr Minifloat kE5M2Fnuz = {5, 2, 16, Specials::kOneNan};
/// The elements of blocks in the OCP Microscaling Formats (MX) Specification 1.0, 2023,
/// section 5.3.
inline constexpr Minifloat kE3M2 = minifloat(3, 2, Specials::kNone);
inline constexpr Minifloat kE2M3 = minifloat(2, 3, Specials::kNone);
inline constexpr Minifloat kE2M1 = minifloat(2, 1, Specials::kNone);

/// The format of a name "eXmY": X bits of exponent (2 to 8), Y of mantissa (at least 1), 4 to 16
/// bits in all. "e4m3" is OFP8's. Others of up to 7 bits have no specials, as in MX, and the rest
/// have infinity and NaN, as in IEEE 754. "eXmYfnuz" (X at most 7) has the specials and the bias of
/// kE4M3Fnuz. Nothing for other names.
std::optional<Minifloat> minifloat_from(std::string_view name);

/// The result for infinity and for numbers that round beyond the largest finite one.
enum class Overflow : std::uint8_t {
  kSaturate,  ///< the largest finite number with the same sign
  kSpecial,   ///< infinity; NaN if the system has no infinity, saturated if it has neither
};

/// The exact value of a code, which is in the low bits() bits.
float decode(const Minifloat& system, std::uint32_t code);
/// The code of round_to_nearest(x). NaN becomes the quiet NaN of its sign with the fewest mantissa
/// bits set. @pre x is not NaN if the system has no NaN
std::uint32_t encode(const Minifloat& system, float x, Overflow overflow = Overflow::kSaturate);

float largest(const Minifloat& system);             ///< finite
float smallest_normal(const Minifloat& system);     ///< 2^(1 - bias)
float smallest_subnormal(const Minifloat& system);  ///< 2^(1 - bias - M)

/// The number of the system nearest to x, ties to the one with an even mantissa. NaN stays NaN, -0
/// becomes 0 if the system has none.
///     y = n 2^q,  n = round(x / 2^q),  q = max(floor(log2 |x|), 1 - bias) - M
float round_to_nearest(const Minifloat& system, float x, Overflow overflow = Overflow::kSaturate);

/// Rounds x to one of its two neighbours in the system. If `random` is uniform over all values, the
/// one away from zero has the probability |x / 2^q| - floor|x / 2^q|, and the mean of y is x,
/// except for less than 2^(q - 32) towards zero if x is subnormal, and for saturation. |y| depends
/// monotonically on |x|. Numbers of the system are unchanged.
///     y = sign(x) floor(|x| / 2^q + random / 2^32) 2^q,  q as in round_to_nearest()
/// Source: Gupta et al., Deep Learning with Limited Numerical Precision, ICML 2015
/// (arXiv:1502.02551), section 3. Differs: floating point instead of fixed point.
float round_stochastically(const Minifloat& system, float x, std::uint32_t random,
                           Overflow overflow = Overflow::kSaturate);

/// Rounds all numbers in place.
void round_to_nearest(const Minifloat& system, std::span<float> numbers,
                      Overflow overflow = Overflow::kSaturate);
/// Rounds all numbers in place; number i uses the upper half of the i-th value of `random`.
void round_stochastically(const Minifloat& system, std::span<float> numbers, Random& random,
                          Overflow overflow = Overflow::kSaturate);

}  // namespace halftone::numerics
