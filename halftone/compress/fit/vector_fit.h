// SPDX-License-Identifier: Apache-2.0
// Fits weights whose neighbours share the signs of a vector basis.
#pragma once

#include <span>

#include "halftone/base/view.h"
#include "halftone/compress/fit/group_fit.h"
#include "halftone/compress/fit/group_metric.h"
#include "halftone/compress/fit/row_fit.h"

namespace halftone::compress {

/// Weights fitted by fit_groups() as the codes of numbers: codewords of 8-bit levels with a scale
/// for each group of a row. Where all weights are zero, so that any factor of the scales would do,
/// it is numerics::least_scale().
/// @param weights  [o, n] finite
/// @param format   of a system of vectors, in groups
/// @param metrics  of n inputs; several: each that of its share of the rows, which have one factor
/// @throws Error kUsage if a group is no whole number of codewords or over 256 weights; else as
///         fit_groups()
RowFit fit_vectors(MatrixView<const float> weights, const WeightFormat& format,
                   std::span<const GroupMetric> metrics, const GroupFitOptions& options = {});

/// The groups of this format, for fit_groups(). @throws Error kUsage as fit_vectors()
numerics::GroupCodes vector_groups(const WeightFormat& format);

}  // namespace halftone::compress
