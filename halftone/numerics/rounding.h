// SPDX-License-Identifier: Apache-2.0
// Rounding of whole tensors to number systems.
#pragma once

#include "halftone/base/random.h"
#include "halftone/base/view.h"
#include "halftone/numerics/number_format.h"

namespace halftone::numerics {

/// The numbers of a format nearest to x, with the scales that the system's rule gives for x:
/// decode(encode(x)). NaN stays NaN; numbers beyond the largest become the largest, or what
/// kOverflowSuffix says.
///
/// Evenly spaced levels and floating point formats are computed directly, which gives the same
/// numbers as a search of the levels.
/// @param x  [rows, cols]
/// @param y  [rows, cols]; may be the memory of x
/// @throws Error kUsage as encoding_by_rule()
void round_by_rule(const NumberFormat& format, MatrixView<const float> x, MatrixView<float> y);

/// The same, but a number between neighbouring levels l <= x <= u, relative to scale and offset,
/// becomes u with the probability (x - l) / (u - l), else l: the expected result is x. Levels stay
/// as they are, and so does the treatment of numbers beyond them.
/// @param random  number i, row by row, uses the upper half of the i-th value
/// Source: Gupta et al., Deep Learning with Limited Numerical Precision, ICML 2015
/// (arXiv:1502.02551), section 3. Differs: any levels instead of fixed point.
void round_by_rule_stochastically(const NumberFormat& format, MatrixView<const float> x,
                                  MatrixView<float> y, Random& random);

}  // namespace halftone::numerics
