// SPDX-License-Identifier: Apache-2.0
// Integers that kernels compute with in place of real numbers: the grid of levels, and TFLite's
// fixed-point multipliers.
#pragma once

#include <array>
#include <cstdint>

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

/// A real number m = mantissa 2^(shift - 31) in [0, 2^30), mantissa in [0, 2^31).
struct FixedMultiplier {
  std::int32_t mantissa = 0;
  std::int32_t shift = 0;
  bool operator==(const FixedMultiplier&) const = default;
};

/// Exclusive upper bound of the argument of fixed_multiplier().
inline constexpr double kFixedMultiplierEnd = 0x1p30;

/// The multiplier nearest to m with 31 bits, mantissa in [2^30, 2^31); 0 below 2^-32.
/// @param m  in [0, kFixedMultiplierEnd)
/// Source: TensorFlow Lite, kernels/internal/quantization_util.cc, QuantizeMultiplier.
FixedMultiplier fixed_multiplier(double m);

/// m / count for a mean, with a truncated mantissa:
///     mantissa = floor(m.mantissa 2^s / count), shift = m.shift - s
/// with s = floor(log2 count), less where the shift would fall below -31.
/// @param count  > 0
/// Source: TensorFlow Lite, kernels/internal/reference/reduce.h, QuantizedMeanOrSum.
FixedMultiplier divided(FixedMultiplier m, std::int64_t count);

/// x / 2^bits to the nearest integer, ties away from zero. @param bits  in [0, 31]
/// Source: gemmlowp, fixedpoint/fixedpoint.h, RoundingDivideByPOT.
std::int32_t shifted_right(std::int32_t x, std::int32_t bits);

/// x m, rounded twice:
///     h = floor((x 2^max(shift, 0) mantissa + 2^30) / 2^31),  y = shifted_right(h, max(-shift, 0))
/// where x 2^max(shift, 0) wraps around 2^32.
/// Source: TensorFlow Lite, kernels/internal/common.h, MultiplyByQuantizedMultiplier, and gemmlowp,
/// fixedpoint/fixedpoint.h, SaturatingRoundingDoublingHighMul.
std::int32_t multiply(std::int32_t x, FixedMultiplier m);

}  // namespace halftone::numerics
