// SPDX-License-Identifier: Apache-2.0
// Converts 32-bit sums to 8-bit codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/numerics/fixed_point.h"

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

}  // namespace halftone::kernels
