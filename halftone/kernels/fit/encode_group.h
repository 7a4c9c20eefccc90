// SPDX-License-Identifier: Apache-2.0
// Codes of a group of columns with error feedback.
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

}  // namespace halftone::kernels
