// SPDX-License-Identifier: Apache-2.0
// Better codes of a group in the metric of the outputs.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/view.h"
#include "halftone/kernels/fit/codewords.h"

namespace halftone::kernels {

/// A group whose codes are chosen once more, one block of d columns after another for all others
/// fixed, to lower the error (w - v)' H (w - v) of the outputs. With r = H (w - v):
///
///     v' = s c + m for the codes as they are, delta = v' - v, r -= H delta
///     for each block b:  the codeword c' of the least error, v' and delta with it;
///                        r_l -= H[p, l] (change of v'_p)   for later columns l of the group
///
/// In ascending order, float32 operations rounded one by one.
struct GroupToSweep {
  const Codewords* codewords = nullptr;
  const float* gram = nullptr;         ///< [g / d, d, d] the blocks of H
  const float* norms = nullptr;        ///< [g / d, n]; not used if the codewords have a step
  const float* reciprocals = nullptr;  ///< [g] 1 / H[i, i], or 0; used if the codewords have a step
  MatrixView<const float> hessian;     ///< [g, g] H
  MatrixView<const float> gradient;    ///< [g, rows] r
  std::span<const float> scales;       ///< [rows] s
  std::span<const float> offsets;      ///< [rows] m
};

struct SweptGroup {
  MatrixView<float> values;        ///< [g, rows] v, replaced by v'
  MatrixView<float> deltas;        ///< [g, rows] v' - v
  MatrixView<std::int32_t> codes;  ///< [g / d, rows] replaced
};

/// @pre as encode_group()
void sweep_group(const GroupToSweep& group, const SweptGroup& result) noexcept;

/// Sums by which a group's scale and offset are chosen for the codes as they are, with u the
/// numbers of their codewords:
///
///     level_gradient u' r,  gradient 1' r,  level_norm u' H u,  level_sum 1' H u
struct LevelSums {
  std::span<float> level_gradient;  ///< [rows]
  std::span<float> gradient;
  std::span<float> level_norm;
  std::span<float> level_sum;
};

struct LevelsToSum {
  const Codewords* codewords = nullptr;
  MatrixView<const float> hessian;       ///< [g, g] H, symmetric
  MatrixView<const float> gradient;      ///< [g, rows] r
  MatrixView<const std::int32_t> codes;  ///< [g / d, rows]
};

/// Float32 operations rounded one by one: H u [l] = sum_i u_i H[l, i], then sums over l, ascending.
/// @pre as encode_group()
void sum_levels(const LevelsToSum& group, const LevelSums& sums) noexcept;

/// Reference implementations in plain loops.
void sweep_group_reference(const GroupToSweep& group, const SweptGroup& result) noexcept;
void sum_levels_reference(const LevelsToSum& group, const LevelSums& sums) noexcept;

}  // namespace halftone::kernels
