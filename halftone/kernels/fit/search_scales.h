// SPDX-License-Identifier: Apache-2.0
// Scales and offsets of groups for a weighted squared error.
#pragma once

#include <cstddef>
#include <span>

#include "halftone/base/view.h"
#include "halftone/kernels/fit/codewords.h"

namespace halftone::kernels {

/// The group [g, rows] and what its scales may be. With lo = min(0, least weight of a row) and
/// hi = max(0, largest weight), and L the least and largest level, the search starts for each
/// share f from
///
///     with offsets      s = f (hi - lo) / (largest - least),  m = f lo - s least
///     without           s = f * the least scale whose levels reach from lo to hi;
///                       if scales have a sign, also that of the least such negative scale
///
/// takes the nearest level for every weight, then s (and m) of least squares for these levels,
/// and the nearest levels again. The least sum of v (w - value)^2 wins, the first of equal ones.
/// Operations are float32 and rounded one by one, sums over the columns in ascending order. Zeros
/// that are returned are positive.
struct ScaleSearch {
  const Codewords* codewords = nullptr;  ///< d = 1
  MatrixView<const float> weights;       ///< [g, rows]
  std::span<const float> importance;     ///< [g] v, >= 0
  std::span<const float> shares;         ///< f, at least one
  bool has_sign = false;                 ///< whether scales may be negative
  bool has_offsets = false;
  float largest_offset = 0;  ///< m is not above it
};

/// @param scales   [rows] s of the least error
/// @param offsets  [rows] m; zeros without offsets
/// @pre rows is a multiple of kFitLanes
void search_scales(const ScaleSearch& search, std::span<float> scales,
                   std::span<float> offsets) noexcept;

/// Reference implementation in plain loops.
void search_scales_reference(const ScaleSearch& search, std::span<float> scales,
                             std::span<float> offsets) noexcept;

}  // namespace halftone::kernels
