// SPDX-License-Identifier: Apache-2.0
// Codes of 4 bits for numbers that a rotation has made alike, as caches of keys and values store
// them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace halftone::numerics {

/// Multiplies each block of b numbers by H / sqrt(b), which is orthogonal and its own inverse, with
/// H[i, j] = (-1)^popcount(i & j) and b the largest power of two that divides their count. Outliers
/// spread over their block; the products of two rotated rows stay the same.
///
/// Sums and differences of numbers 1, 2, 4, ... apart follow one another, each rounded to float32;
/// then comes the factor.
/// Source: Ashkboos et al., QuaRot, NeurIPS 2024 (arXiv:2404.00456), Sec. 4, for caches.
void rotate_blocks(std::span<float> x) noexcept;

/// What 32 codes of 4 bits mean: number i is unit() codes[i] + first(), without rounding.
struct NibbleGroup {
  static constexpr std::size_t kNumbers = 32;
  static constexpr int kMaxCode = 15;
  /// From the code of a unit to the upper bits of a float32: shifted by kUnitShift.
  static constexpr std::uint32_t kUnitBias = (127 - 20) * 8;
  static constexpr int kUnitShift = 20;
  static constexpr std::uint8_t kNan = 255;  ///< a unit for groups with an infinity or NaN

  std::uint8_t unit_code =
      0;                   ///< of 2^(e - 20) (1 + m / 8): e in the first 5 bits, m in the others
  std::int8_t offset = 0;  ///< in eighths of the unit

  [[nodiscard]] float unit() const noexcept;
  [[nodiscard]] float first() const noexcept {
    return unit() * 0.125F * static_cast<float>(offset);
  }
  bool operator==(const NibbleGroup&) const = default;
};

/// Rounds a group to 16 evenly spaced numbers: of some ranges around the middle of the group, the
/// whole one and shorter ones, that of the least squared error. Numbers are limited to a magnitude
/// of 28,672 first.
/// @param x      1 to 32 numbers
/// @param codes  [x.size()] 0 to 15
NibbleGroup encode_nibbles(std::span<const float> x, std::span<std::uint8_t> codes) noexcept;

}  // namespace halftone::numerics
