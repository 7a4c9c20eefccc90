// SPDX-License-Identifier: Apache-2.0
// Codes and scales of groups of weights.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "halftone/base/view.h"
#include "halftone/kernels/fit/codewords.h"

namespace halftone::kernels {

/// The value of a weight with number c of a codeword, scale s and offset m is v = fl(fl(s c) + m).
///
/// What encode_group() does for the g columns of a group in which weights share a scale. For each
/// candidate (s, m), with U [g, g] the factor of the group's columns, for blocks b of d columns:
///
///     y = (w_b - m) (1 / s)             1 / s is 0 for s = 0, and at most 2^100
///     c = the codeword that is nearest to y in the metric of the block
///     e = (w_b - v) M                   M [d, d] = U_bb^-1, upper triangular
///     w_l -= e_p U[p, l]                for all later columns l of the group, p in b
///
/// The candidate of the least sum of e^2 is kept, the first of equal ones. All operations are
/// float32 and rounded one by one, sums in ascending order.
struct GroupToEncode {
  const Codewords* codewords = nullptr;
  const float* gram = nullptr;      ///< [g / d, d, d] M M', see CodeMetric
  const float* norms = nullptr;     ///< [g / d, n]; not used if the codewords have a step
  const float* inverse = nullptr;   ///< [g / d, d, d] M; what is left of the diagonal is not used
  MatrixView<const float> factor;   ///< [g, g] U; what is left of the diagonal is not used
  MatrixView<const float> weights;  ///< [g, rows]
  MatrixView<const float> scales;   ///< [candidates, rows], at least one
  MatrixView<const float> offsets;  ///< likewise
};

struct EncodedGroup {
  MatrixView<float> errors;        ///< [g, rows] e
  MatrixView<float> values;        ///< [g, rows] v
  MatrixView<std::int32_t> codes;  ///< [g / d, rows]
  std::span<std::int32_t> chosen;  ///< [rows] candidates
};

/// @pre g is a multiple of d and at most kMaxFitGroup, rows a multiple of kFitLanes
void encode_group(const GroupToEncode& group, const EncodedGroup& result) noexcept;

/// Reference implementation in plain loops.
void encode_group_reference(const GroupToEncode& group, const EncodedGroup& result) noexcept;

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
