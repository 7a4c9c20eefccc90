// SPDX-License-Identifier: Apache-2.0
// Fits weights in groups with error feedback and sweeps in the metric of the outputs.
#pragma once

#include "halftone/base/view.h"
#include "halftone/compress/fit/fitted_groups.h"
#include "halftone/compress/fit/group_metric.h"

namespace halftone::compress {

struct GroupFitOptions {
  bool feedback = true;  ///< spread errors over the columns that are yet to be encoded
  /// Scales that are tried for a group, 1 to 64. Integer scales: the best for the weights alone,
  /// and from 3 on also its neighbours, each with the neighbours of the offset.
  int candidates = 8;
  int sweeps = 2;    ///< passes over scales and codes in the metric, 0 to 100
  float factor = 0;  ///< of scales of e3m5; 0: scale_factor_of()
};

/// The factor of scales of e3m5 with room for a matrix and the errors that are spread to it; 0 if
/// it is all zero; 1 for other scales.
/// @throws Error kUsage as check_codes()
float scale_factor_of(MatrixView<const float> weights, const GroupCodes& grid,
                      const GroupFitOptions& options = {});

/// Chooses codes, scales and offsets of a matrix so that the errors (w - q)' H (w - q) of its
/// outputs are small.
///  1. Groups of columns are encoded one after another. Each of several scales (and offsets) is
///     tried for the whole group: code after code is that of the nearest codeword in the metric of
///     its d columns, (x - s c)' G (x - s c) with G^-1 = U_bb' U_bb, and its error
///     e = (x - s c) U_bb^-1 is spread, w_j -= e U_bj. The scale of the least |e|^2 of a group
///     wins. Scales that are integers come from a search over the block that shares a factor when
///     that block begins; its neighbours are tried too.
///  2. Sweeps. With R = (W - Q) H: for each group the scale (and offset) in closed form, kept where
///     it helps after it is rounded; then one code after another for all others fixed.
/// Rows are fitted independently on several threads, see parallel_for(); the result does not depend
/// on their number, nor on the SIMD target.
/// @param weights  [o, n]
/// @throws Error kUsage as check_codes() or if an option is out of range; kShape if the metric has
///         another n; kUnsupported if a weight is not finite
/// Source: step 1, Frantar et al., GPTQ, ICLR 2023 (arXiv:2210.17323), Algorithm 1.
/// Differs: several columns share a code; scales are judged by the error after feedback; sweeps.
GroupFit fit_groups(MatrixView<const float> weights, const GroupCodes& grid,
                    const GroupMetric& metric, const GroupFitOptions& options = {});

}  // namespace halftone::compress
