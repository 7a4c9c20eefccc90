// SPDX-License-Identifier: Apache-2.0
// Dense linear algebra of the fits. Eigen provides storage and element-wise operations. All sums
// are computed here or in kernels/dense, in a fixed order, so that fits give the same bits
// everywhere.
#pragma once

#include <Eigen/Core>

#include "halftone/base/view.h"
#include "halftone/kernels/dense/matmul.h"

namespace halftone::compress {

using Matrix = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Vector = Eigen::VectorXd;

Matrix to_matrix(MatrixView<const float> view);

/// A matrix as a view for kernels.
MatrixView<const double> view_of(const Matrix& matrix);
MatrixView<double> view_of(Matrix& matrix);
/// Columns [first, first + count) of a matrix.
MatrixView<const double> columns_of(const Matrix& matrix, std::size_t first, std::size_t count);

/// A B, see kernels::matmul(). Blocks of rows run in parallel, with the same bits.
Matrix multiply(const kernels::Factor<double>& a, const kernels::Factor<double>& b);
/// A x: y[i] = sum_k A[i, k] x[k], added in the order of k.
Vector multiply(const Matrix& a, const Vector& x);

/// The sum of a vector's elements in their order.
double sum_of(const Eigen::Ref<const Vector, 0, Eigen::InnerStride<>>& x);

/// U with H^-1 = U' U, upper triangular, for a symmetric positive definite H.
/// With P the reversal of rows and P H P = V' V the Cholesky factorisation, U = P V'^-1 P. Panels
/// of rows run in parallel, with the same bits. Memory: 16 n^2 bytes beside H.
/// @param hessian  [n, n]
/// @throws Error kUnsupported if H is not positive definite in float64
Matrix inverse_factor(const Matrix& hessian);

/// The parameters p that minimise p' G p - 2 p' r, with a ridge of `relative_ridge` times the mean
/// diagonal of G, which keeps parameters finite that the codes do not determine.
/// @param gram  [P, P] symmetric, positive semidefinite
/// @param rhs   [P]
Vector solve_ridge(Matrix gram, const Vector& rhs, double relative_ridge = 1e-9);

/// The same for G = A' A and r = A' y: the p that brings A p closest to y.
Vector solve_least_squares(const Matrix& a, const Vector& y, double relative_ridge = 1e-9);

/// The same for parameters of different sizes, such as a scale and an offset: the ridge of each is
/// relative to its own diagonal, so that none is drawn to zero more than the others.
Vector solve_scaled_ridge(const Matrix& gram, const Vector& rhs, double relative_ridge);

}  // namespace halftone::compress
