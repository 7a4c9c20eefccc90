// SPDX-License-Identifier: Apache-2.0
// The nearest codeword, for the reference implementations of this folder.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "halftone/kernels/fit/codewords.h"

namespace halftone::kernels {

/// 1 / s is no larger than this, so that products with it are no NaN.
inline constexpr float kLargestReciprocal = 0x1p100F;

/// 1 / s, but 0 for s = 0 and at most kLargestReciprocal.
inline float reciprocal_reference(float s) {
  if (s == 0) return 0;
  return std::clamp(1 / s, -kLargestReciprocal, kLargestReciprocal);
}

/// y G of a block.
/// @param y     [d]
/// @param gram  [d, d]
inline std::array<float, 4> in_metric_reference(const float* y, const float* gram, std::size_t d) {
  std::array<float, 4> z{};
  for (std::size_t q = 0; q < d; ++q) {
    z[q] = y[0] * gram[q];
    for (std::size_t p = 1; p < d; ++p) {
      const float term = y[p] * gram[p * d + q];
      z[q] += term;
    }
  }
  return z;
}

/// fl(fl(s c) + m).
inline float value_reference(float scale, float number, float offset) {
  const float product = scale * number;
  return product + offset;
}

/// The level nearest to y of codewords with a step: (y - first) (1 / step), within the codes and
/// rounded to the nearest, ties to even.
inline std::int32_t nearest_step_reference(const Codewords& codewords, float y) {
  const float place = (y - codewords.words()[0]) * (1 / codewords.step());
  const float last = static_cast<float>(codewords.count() - 1);
  const float within = std::min(std::max(place, 0.0F), last);
  constexpr float kToInteger = 0x1.8p23F;  // floats of this size are integers
  return static_cast<std::int32_t>((within + kToInteger) - kToInteger);
}

/// The code of the largest z' c - norm, the first of equal ones.
/// @param z      [d]
/// @param norms  [n]
inline std::int32_t nearest_word_reference(const Codewords& codewords, const float* z,
                                           const float* norms) {
  std::int32_t best = 0;
  float best_gain = 0;
  const std::size_t d = codewords.numbers();
  for (std::size_t k = 0; k < codewords.count(); ++k) {
    const float* const c = codewords.words() + k * d;
    const float first = z[0] * c[0];
    float gain = first - norms[k];
    for (std::size_t p = 1; p < d; ++p) {
      const float term = z[p] * c[p];
      gain += term;
    }
    if (k != 0 && !(gain > best_gain)) continue;
    best = static_cast<std::int32_t>(k);
    best_gain = gain;
  }
  return best;
}

}  // namespace halftone::kernels
