// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/algebra.h"

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/kernels/dense/cholesky.h"

namespace halftone::compress {
namespace {

/// Rows or columns that a thread computes at a time: enough to amortize packing.
constexpr std::size_t kParallelBlock = 192;

std::size_t num_blocks(std::size_t count) { return (count + kParallelBlock - 1) / kParallelBlock; }

/// Rows [first, first + count) of a factor.
kernels::Factor<double> rows_of(const kernels::Factor<double>& a, std::size_t first,
                                std::size_t count) {
  if (!a.is_transposed) return a.stored.rows_from(first, count);
  const MatrixView<const double> all = a.stored;
  return kernels::transposed(
      MatrixView<const double>(all.data_handle() + first, all.rows(), count, all.stride()));
}

MatrixView<double> part_of_matrix(MatrixView<double> a, std::size_t row, std::size_t col,
                                  std::size_t rows, std::size_t cols) {
  return {a.data_handle() + row * a.stride() + col, rows, cols, a.stride()};
}

/// kernels::cholesky() of a large matrix, with the same bits: a panel of rows after another is
/// factored, and its products are subtracted from the rest by several threads.
/// @return whether the matrix is positive definite
bool cholesky_in_panels(MatrixView<double> a) {
  const std::size_t n = a.rows();
  for (std::size_t k = 0; k < n; k += kParallelBlock) {
    const std::size_t rows = std::min(kParallelBlock, n - k);
    const std::size_t rest = n - k - rows;
    const MatrixView<double> top = part_of_matrix(a, k, k, rows, rows);
    if (!kernels::cholesky(top)) return false;
    const MatrixView<double> right = part_of_matrix(a, k, k + rows, rows, rest);
    parallel_for(num_blocks(rest), [&](std::size_t b) {
      const std::size_t first = b * kParallelBlock;
      const std::size_t cols = std::min(kParallelBlock, rest - first);
      kernels::solve_transposed(top, part_of_matrix(right, 0, first, rows, cols));
    });
    parallel_for(num_blocks(rest), [&](std::size_t b) {
      const std::size_t first = b * kParallelBlock;
      const std::size_t count = std::min(kParallelBlock, rest - first);
      const std::size_t at = k + rows + first;
      const MatrixView<double> from = part_of_matrix(right, 0, first, rows, rest - first);
      kernels::matmul(kernels::transposed(part_of_matrix(from, 0, 0, rows, count)), from,
                      part_of_matrix(a, at, at, count, rest - first), kernels::Update::kSubtract,
                      kernels::Region::kUpper);
    });
  }
  return true;
}

/// V'^-1 for an upper triangular V; lower triangular.
Matrix inverse_transposed(const Matrix& v) {
  const auto n = static_cast<std::size_t>(v.rows());
  Matrix inverse = Matrix::Identity(v.rows(), v.cols());
  parallel_for(num_blocks(n), [&](std::size_t b) {
    // Above the diagonal the inverse is zero: a block of columns is solved from there on.
    const std::size_t first = b * kParallelBlock;
    const std::size_t at = first * n + first;
    kernels::solve_transposed(
        MatrixView<const double>(v.data() + at, n - first, n - first, n),
        MatrixView<double>(inverse.data() + at, n - first, std::min(kParallelBlock, n - first), n));
  });
  return inverse;
}

}  // namespace

Matrix to_matrix(MatrixView<const float> view) {
  using Rows = Eigen::Matrix<float, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
  const auto stride = static_cast<Eigen::Index>(view.stride());
  return Eigen::Map<const Rows, 0, Eigen::OuterStride<>>(
             view.data_handle(), static_cast<Eigen::Index>(view.rows()),
             static_cast<Eigen::Index>(view.cols()), Eigen::OuterStride<>(stride))
      .cast<double>();
}

MatrixView<const double> view_of(const Matrix& matrix) {
  return columns_of(matrix, 0, static_cast<std::size_t>(matrix.cols()));
}

MatrixView<double> view_of(Matrix& matrix) {
  const auto cols = static_cast<std::size_t>(matrix.cols());
  return {matrix.data(), static_cast<std::size_t>(matrix.rows()), cols, cols};
}

MatrixView<const double> columns_of(const Matrix& matrix, std::size_t first, std::size_t count) {
  return {matrix.data() + first, static_cast<std::size_t>(matrix.rows()), count,
          static_cast<std::size_t>(matrix.cols())};
}

Matrix multiply(const kernels::Factor<double>& a, const kernels::Factor<double>& b) {
  Matrix result(static_cast<Eigen::Index>(a.rows()), static_cast<Eigen::Index>(b.cols()));
  const MatrixView<double> view = view_of(result);
  parallel_for(num_blocks(a.rows()), [&](std::size_t block) {
    const std::size_t first = block * kParallelBlock;
    const std::size_t count = std::min(kParallelBlock, a.rows() - first);
    kernels::matmul(rows_of(a, first, count), b, view.rows_from(first, count));
  });
  return result;
}

Vector multiply(const Matrix& a, const Vector& x) {
  HALFTONE_ASSERT(a.cols() == x.size());
  Vector y(a.rows());
  for (Eigen::Index i = 0; i < a.rows(); ++i) {
    double sum = 0;
    for (Eigen::Index k = 0; k < a.cols(); ++k) sum += a(i, k) * x[k];
    y[i] = sum;
  }
  return y;
}

double sum_of(const Eigen::Ref<const Vector, 0, Eigen::InnerStride<>>& x) {
  double sum = 0;
  for (Eigen::Index i = 0; i < x.size(); ++i) sum += x[i];
  return sum;
}

Matrix inverse_factor(const Matrix& hessian) {
  Matrix v = hessian.reverse();
  if (!cholesky_in_panels(view_of(v))) {
    fail(ErrorKind::kUnsupported,
         "second moments of a layer's inputs: expected a positive definite matrix in "
         "float64; increase 'damping' in the recipe");
  }
  Matrix factor = inverse_transposed(v);
  std::reverse(factor.data(), factor.data() + factor.size());
  return factor;
}

Vector solve_ridge(Matrix gram, const Vector& rhs, double relative_ridge) {
  const Eigen::Index n = gram.rows();
  const double mean_diagonal = n == 0 ? 0 : sum_of(gram.diagonal()) / static_cast<double>(n);
  const double ridge = mean_diagonal > 0 ? relative_ridge * mean_diagonal : 1;
  gram.diagonal().array() += ridge;
  // G = L D L', L from the lower triangle, D on the diagonal; with L y = r on the way.
  Vector solution = rhs;
  for (Eigen::Index k = 0; k < n; ++k) {
    const double pivot = gram(k, k);
    for (Eigen::Index i = k + 1; i < n; ++i) {
      const double scale = pivot > 0 ? gram(i, k) / pivot : 0;
      for (Eigen::Index j = k + 1; j <= i; ++j) gram(i, j) -= scale * gram(j, k);
      solution[i] -= scale * solution[k];
    }
    // L[i, k], once no row needs L[i, k] D[k] any more.
    for (Eigen::Index i = k + 1; i < n; ++i) gram(i, k) = pivot > 0 ? gram(i, k) / pivot : 0;
  }
  // Unknowns that no equation determines stay 0.
  for (Eigen::Index k = n; k-- > 0;) {
    solution[k] = gram(k, k) > 0 ? solution[k] / gram(k, k) : 0;
    for (Eigen::Index i = k + 1; i < n; ++i) solution[k] -= gram(i, k) * solution[i];
  }
  return solution;
}

Vector solve_least_squares(const Matrix& a, const Vector& y, double relative_ridge) {
  const Matrix transpose = a.transpose();
  return solve_ridge(multiply(view_of(transpose), view_of(a)), multiply(transpose, y),
                     relative_ridge);
}

Vector solve_scaled_ridge(const Matrix& gram, const Vector& rhs, double relative_ridge) {
  Vector size = gram.diagonal().cwiseSqrt();
  for (double& each : size) each = each > 0 ? each : 1;
  Matrix scaled = gram;
  for (Eigen::Index i = 0; i < size.size(); ++i) {
    for (Eigen::Index j = 0; j < size.size(); ++j) scaled(i, j) /= size[i] * size[j];
  }
  return solve_ridge(std::move(scaled), rhs.cwiseQuotient(size), relative_ridge)
      .cwiseQuotient(size);
}

}  // namespace halftone::compress
