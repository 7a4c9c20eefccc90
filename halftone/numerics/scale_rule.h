// SPDX-License-Identifier: Apache-2.0
// Scales in closed form: what the standards say, and where fits begin.
#pragma once

#include <cstdint>
#include <limits>
#include <span>

#include "halftone/numerics/codebook.h"

namespace halftone::numerics {

/// How the scale s and the offset c of a block follow from its values x. L is the level that the
/// largest magnitude is to have: the largest level if nothing else is said, or its magnitude if
/// none is above zero.
enum class ScaleRule : std::uint8_t {
  kUnit,           ///< s = 1
  kLargest,        ///< s = max|x| / L
  kRange,          ///< s = (max x - min x) / (max level - min level),  c = min x - s min level
  kRangeWithZero,  ///< the same with min(0, min x) and max(0, max x), c rounded to a multiple of s
  kRangeFromZero,  ///< kRange with min(0, min x) in place of min x
  kPowerOfTwo,     ///< s = 2^(floor(log2 max|x|) - floor(log2 L))
};

/// The least and the largest of finite numbers. Infinities and NaN are ignored.
struct ValueRange {
  float low = std::numeric_limits<float>::infinity();
  float high = -std::numeric_limits<float>::infinity();

  void add(std::span<const float> values);
  [[nodiscard]] bool is_empty() const { return low > high; }
  /// The largest magnitude; 0 if empty.
  [[nodiscard]] float magnitude() const;
};

/// Scale and offset before they are stored.
struct BlockScale {
  double scale = 0;  ///< 0 if the rule gives none: see MatrixEncoding::set_scale()
  double offset = 0;
};

/// The scale of a block by a rule; 0 if all values are zero, or for a range if all are equal.
///
/// kRangeFromZero is the rule of llama.cpp's K-quants, whose offsets are never above zero.
///
/// kPowerOfTwo is the rule of MX, which calls floor(log2 L) emax. It is also that of dynamic fixed
/// point and of block floating point, where L = 2^(K-1) - 1 gives s = 2^e with
/// e = floor(log2 max|x|) + 1 - (K - 1). Numbers beyond the levels saturate.
/// Source: OCP MX 1.0, section 6.3; Courbariaux, Bengio, David, Training Deep Neural Networks with
/// Low Precision Multiplications, 2015 (arXiv:1412.7024), section 5.
///
/// @param largest  L; 0: the codebook's
BlockScale block_scale(const Codebook& codebook, ScaleRule rule, const ValueRange& values,
                       double largest = 0);

}  // namespace halftone::numerics
