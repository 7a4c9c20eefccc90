// SPDX-License-Identifier: Apache-2.0
// Fits weights to codes whose first bits are codes too.
#pragma once

#include "halftone/base/view.h"
#include "halftone/compress/fit/fit_matrix.h"

namespace halftone::compress {

/// The fit of fit_matrix() to numerics::nested_encoding(), so that both its precisions are close to
/// the weights. Each has targets x of its own, from which its own errors are spread. With the
/// values v of a code, choices minimise
///
///     (x_4 - v_4)^2 + (x_3 - v_3)^2 / 3
///
/// in the metric of the columns; scales and sweeps minimise the sum of the errors of outputs in the
/// same proportion. So a group is fitted as codes of two weights in a column, whose codewords are
/// the pairs of values.
/// @return  codes of 4 bits
/// @throws Error as fit_matrix()
GroupFit fit_nested(MatrixView<const float> weights, const Metric<float>& metric,
                    const MatrixFitOptions& options = {});

/// What a fit to numerics::nested_encoding() represents with the first three bits of its codes.
/// @param values  [rows, cols]
/// @throws Error as decode()
void decode_first_bits(const GroupFit& fit, MatrixView<float> values);

}  // namespace halftone::compress
