// SPDX-License-Identifier: Apache-2.0
// Integers times real numbers in integer arithmetic, as in TFLite's quantized operators.
#pragma once

#include <cstdint>

namespace halftone::numerics {

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
