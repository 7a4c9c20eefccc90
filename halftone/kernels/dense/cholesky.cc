// SPDX-License-Identifier: Apache-2.0
// Recursion on halves of the matrix: most of the work is products, which keep the order of sums.
#include "halftone/kernels/dense/cholesky.h"

#include "halftone/kernels/dense/matmul.h"

namespace halftone::kernels {
namespace {

/// Up to this many rows the reference implementation is as fast.
constexpr std::size_t kSmall = 16;

template <typename T>
MatrixView<T> block(MatrixView<T> a, std::size_t row, std::size_t col, std::size_t rows,
                    std::size_t cols) {
  return {a.data_handle() + row * a.stride() + col, rows, cols, a.stride()};
}

}  // namespace

void solve_transposed(MatrixView<const double> u, MatrixView<double> b) {
  const std::size_t n = u.rows();
  if (n <= kSmall) {
    // Row by row, so that the columns are the inner loop.
    for (std::size_t k = 0; k < n; ++k) {
      for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = 0; j < b.cols(); ++j) b(k, j) -= u(i, k) * b(i, j);
      }
      for (std::size_t j = 0; j < b.cols(); ++j) b(k, j) /= u(k, k);
    }
    return;
  }
  const std::size_t half = n / 2;
  const MatrixView<double> above = b.rows_from(0, half);
  const MatrixView<double> below = b.rows_from(half, n - half);
  solve_transposed(block(u, 0, 0, half, half), above);
  matmul(transposed(block(u, 0, half, half, n - half)), MatrixView<const double>(above), below,
         Update::kSubtract);
  solve_transposed(block(u, half, half, n - half, n - half), below);
}

bool cholesky(MatrixView<double> a) {
  const std::size_t n = a.rows();
  if (n <= kSmall) return cholesky_reference(a);
  const std::size_t half = n / 2;
  const auto right = block(a, 0, half, half, n - half);
  const auto rest = block(a, half, half, n - half, n - half);
  if (!cholesky(block(a, 0, 0, half, half))) return false;
  solve_transposed(block(a, 0, 0, half, half), right);
  matmul(transposed(MatrixView<const double>(right)), MatrixView<const double>(right), rest,
         Update::kSubtract, Region::kUpper);
  return cholesky(rest);
}

}  // namespace halftone::kernels
