// SPDX-License-Identifier: Apache-2.0
// Fits weights in groups to any codewords. Used by group_rows.cc and nested_fit.cc.
#pragma once

#include "halftone/base/view.h"
#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/kernels/fit/codewords.h"

namespace halftone::compress {

/// Weights and the metric of their n inputs. Of several streams, columns i, i + 1, ... of the
/// weights belong to one input: errors reach columns of their own stream alone.
struct GroupLayer {
  MatrixView<const float> weights;  ///< [o, n * streams]
  const Metric<float>& metric;
};

/// @throws Error kUsage if an option is out of range
void check_group_options(const MatrixFitOptions& options);
/// @throws Error kShape if the metric has another n; kUnsupported if a weight is not finite
void check_group_weights(MatrixView<const float> weights, const Metric<float>& metric);

/// Steps 2 and 3 of fit_matrix() for groups and scales of a grid, whose codes name other codewords.
/// @return  codes of as many columns as a codeword has numbers
/// @pre check_codes(), check_group_options() and check_group_weights() have passed
GroupFit fit_groups(const GroupLayer& layer, const GroupCodes& grid,
                    const kernels::Codewords& codewords, const MatrixFitOptions& options);

}  // namespace halftone::compress
