// SPDX-License-Identifier: Apache-2.0
// 8-bit codes q of evenly spaced numbers, scale (q - zero_point): from 32-bit sums, to and from
// float32, and functions of two codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "halftone/numerics/integer_grid.h"

namespace halftone::kernels {

/// The range of codes: q = min(max(y + zero_point, low), high).
struct CodeBounds {
  std::int32_t zero_point = 0;
  std::int32_t low = -128;
  std::int32_t high = 127;
};

/// How a sum times a multiplier m is rounded.
enum class SumRounding : std::uint8_t {
  kTwice,     ///< in integer arithmetic: numerics::multiply(x, m)
  kHalfEven,  ///< once: the float64 product x m, ties to even
  kHalfAway,  ///< the same, ties away from zero
};

/// The multipliers of the columns as requantize() reads them: one array per field, repeated until
/// the length is a multiple of whole vectors of up to kLanes.
class Requantization {
 public:
  static constexpr std::size_t kLanes = 16;

  /// Rounds twice.
  /// @param multipliers  one for each column, at least one; shifts within [-31, 30]
  Requantization(std::span<const numerics::FixedMultiplier> multipliers, CodeBounds bounds);
  /// Rounds once.
  /// @param multipliers  one for each column, at least one; finite and above 0
  /// @param rounding     kHalfEven or kHalfAway
  Requantization(std::span<const double> multipliers, CodeBounds bounds, SumRounding rounding);

  [[nodiscard]] SumRounding rounding() const { return rounding_; }
  [[nodiscard]] const CodeBounds& bounds() const { return bounds_; }
  [[nodiscard]] std::size_t period() const { return period_; }
  /// [period] each, of kTwice.
  [[nodiscard]] const std::int32_t* mantissas() const { return mantissas_.data(); }
  [[nodiscard]] const std::int32_t* left_shifts() const { return left_shifts_.data(); }
  [[nodiscard]] const std::int32_t* right_shifts() const { return right_shifts_.data(); }
  /// [period] of the others.
  [[nodiscard]] const double* factors() const { return factors_.data(); }

 private:
  CodeBounds bounds_;
  SumRounding rounding_;
  std::size_t period_ = 0;
  std::vector<std::int32_t> mantissas_;
  std::vector<std::int32_t> left_shifts_;   ///< max(shift, 0)
  std::vector<std::int32_t> right_shifts_;  ///< max(-shift, 0)
  std::vector<double> factors_;
};

/// q[i] = min(max(y + zero_point, low), high), where y is x[i] times the multiplier of column i,
/// rounded; with kTwice modulo 2^32 before the bounds.
/// @param x  [n], rows of as many columns as there are multipliers, or of any with one
/// @param q  [n], of a type that holds the bounds
void requantize(std::span<const std::int32_t> x, const Requantization& how,
                std::span<std::int8_t> q) noexcept;
void requantize(std::span<const std::int32_t> x, const Requantization& how,
                std::span<std::uint8_t> q) noexcept;

/// Reference implementation of requantize() in plain loops.
void requantize_reference(std::span<const std::int32_t> x, const Requantization& how,
                          std::span<std::int8_t> q) noexcept;
void requantize_reference(std::span<const std::int32_t> x, const Requantization& how,
                          std::span<std::uint8_t> q) noexcept;

/// What codes mean: scale (q - zero_point).
struct CodeScale {
  float scale = 1;
  std::int32_t zero_point = 0;
};

/// How float32 becomes codes: q = min(max(round(x / scale) + zero_point, low), high) in float32.
/// NaN becomes 0.
struct CodeRounder {
  float scale = 1;
  CodeBounds bounds;
  bool half_away = false;  ///< ties away from zero instead of to even
};

/// @param q  [n] as x, of a type that holds the bounds
void quantize_linear(std::span<const float> x, const CodeRounder& how,
                     std::span<std::int8_t> q) noexcept;
void quantize_linear(std::span<const float> x, const CodeRounder& how,
                     std::span<std::uint8_t> q) noexcept;

/// x = scale (q - zero_point) in float32. @param x  [n] as q
void dequantize_linear(std::span<const std::int8_t> q, CodeScale scale,
                       std::span<float> x) noexcept;
void dequantize_linear(std::span<const std::uint8_t> q, CodeScale scale,
                       std::span<float> x) noexcept;

/// The codes of uint8 as int8: q - 128. @param y  [n] as q
void as_signed(std::span<const std::uint8_t> q, std::span<std::int8_t> y) noexcept;

enum class PairKind : std::uint8_t { kSum, kDifference, kProduct };

/// The code of a function f of two numbers in float32: min(max(f(x_a, x_b), low), high), rounded.
struct FloatPair {
  PairKind kind = PairKind::kSum;
  CodeScale a;
  CodeScale b;
  float low = -std::numeric_limits<float>::infinity();
  float high = std::numeric_limits<float>::infinity();
  CodeRounder y;
};

/// @param a, b  [n] codes, or one that all have in common
/// @param q     [n]
void combine_codes(std::span<const std::int8_t> a, std::span<const std::int8_t> b,
                   const FloatPair& how, std::span<std::int8_t> q) noexcept;
void combine_codes(std::span<const std::uint8_t> a, std::span<const std::uint8_t> b,
                   const FloatPair& how, std::span<std::uint8_t> q) noexcept;

/// Reference implementations in plain loops, of one element.
std::int32_t quantized_reference(float x, const CodeRounder& how) noexcept;
std::int32_t combined_reference(std::int32_t a, std::int32_t b, const FloatPair& how) noexcept;

}  // namespace halftone::kernels
