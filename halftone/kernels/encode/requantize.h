// SPDX-License-Identifier: Apache-2.0
// Converts 32-bit sums to 8-bit codes in integer arithmetic.
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

/// The multipliers of the columns as requantize() reads them: one array per field, repeated until
/// the length is a multiple of whole vectors of up to kLanes.
class Requantization {
 public:
  static constexpr std::size_t kLanes = 16;

  /// @param multipliers  one for each column, at least one; shifts within [-31, 30]
  Requantization(std::span<const numerics::FixedMultiplier> multipliers, CodeBounds bounds);

  [[nodiscard]] const CodeBounds& bounds() const { return bounds_; }
  [[nodiscard]] numerics::FixedMultiplier multiplier(std::size_t i) const {
    return multipliers_[i % multipliers_.size()];
  }
  [[nodiscard]] std::size_t period() const { return mantissas_.size(); }
  [[nodiscard]] const std::int32_t* mantissas() const { return mantissas_.data(); }
  [[nodiscard]] const std::int32_t* left_shifts() const { return left_shifts_.data(); }
  [[nodiscard]] const std::int32_t* right_shifts() const { return right_shifts_.data(); }

 private:
  CodeBounds bounds_;
  std::vector<numerics::FixedMultiplier> multipliers_;
  std::vector<std::int32_t> mantissas_;     ///< [period], as the next two
  std::vector<std::int32_t> left_shifts_;   ///< max(shift, 0)
  std::vector<std::int32_t> right_shifts_;  ///< max(-shift, 0)
};

/// q[i] = min(max(numerics::multiply(x[i], multiplier(i)) + zero_point, low), high), modulo 2^32
/// before the bounds.
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
