// SPDX-License-Identifier: Apache-2.0
// Triangular factors of symmetric positive definite matrices; bits are the same on every target.
#pragma once

#include "halftone/base/view.h"

namespace halftone::kernels {

/// Replaces A by U with A = U' U, upper triangular:
///
///     U[k, k] = sqrt(A[k, k] - sum_{i<k} U[i, k]^2)
///     U[k, j] = (A[k, j] - sum_{i<k} U[i, k] U[i, j]) / U[k, k]     for j > k
///
/// Terms are subtracted one by one in the order of i, each operation rounded.
/// @param a  [n, n]; only the diagonal and what is right of it are read and written
/// @return whether A is positive definite in this arithmetic; if not, A is left half factored
[[nodiscard]] bool cholesky(MatrixView<double> a);

/// Replaces B by X with U' X = B:
///
///     X[k, j] = (B[k, j] - sum_{i<k} U[i, k] X[i, j]) / U[k, k]
///
/// Terms are subtracted one by one in the order of i, each operation rounded.
/// @param u  [n, n] upper triangular; elements left of the diagonal are not read
/// @param b  [n, m]
void solve_transposed(MatrixView<const double> u, MatrixView<double> b);

/// Reference implementations in plain loops.
[[nodiscard]] bool cholesky_reference(MatrixView<double> a);
void solve_transposed_reference(MatrixView<const double> u, MatrixView<double> b);

}  // namespace halftone::kernels
