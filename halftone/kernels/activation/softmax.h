// SPDX-License-Identifier: Apache-2.0
// Softmax over the rows of a matrix.
#pragma once

#include "halftone/base/view.h"

namespace halftone::kernels {

/// y[r, c] = e_c / (e_0 + ... + e_(n-1)) with e_c = exp(x[r, c] - max of the row), exp as in
/// activation.h. The sum does not depend on the vector length: term c is added to partial sum
/// c mod 16, in ascending order; then partial sum l + h is added to partial sum l, for
/// h = 8, 4, 2, 1. A row with NaN, with +infinity, or with only -infinity becomes NaN.
/// Otherwise y[r, c] is within 1.5e-45 of the exact quotient or, relatively, within
/// (|x[r, c] - max of the row| + ln n + n / 16 + 10) 2^-24: the differences are rounded, their
/// average with the weights y is at most ln n, and up to n / 16 + 4 terms are added one after
/// another.
/// @param x  [m, n]
/// @param y  [m, n]; may be the memory of x
void softmax(MatrixView<const float> x, MatrixView<float> y) noexcept;

/// Reference implementation of softmax() in plain loops.
void softmax_reference(MatrixView<const float> x, MatrixView<float> y) noexcept;

}  // namespace halftone::kernels
