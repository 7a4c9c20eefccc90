// SPDX-License-Identifier: Apache-2.0
// Products of dense matrices for fits; the same bits on every target.
// Transposes a matrix.
#pragma once

#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "halftone/base/view.h"

namespace halftone::kernels {

/// A factor of a product: a matrix in memory, or its transpose.
template <typename T>
struct Factor {
  // NOLINTNEXTLINE(google-explicit-constructor): a matrix is a factor.
  Factor(MatrixView<const T> matrix, bool transposed = false)
      : stored(matrix), is_transposed(transposed) {}
  // NOLINTNEXTLINE(google-explicit-constructor): as above.
  Factor(MatrixView<T> matrix, bool transposed = false)
      : stored(matrix), is_transposed(transposed) {}

  [[nodiscard]] std::size_t rows() const { return is_transposed ? stored.cols() : stored.rows(); }
  [[nodiscard]] std::size_t cols() const { return is_transposed ? stored.rows() : stored.cols(); }
  /// Element (r, c), for references and tests.
  [[nodiscard]] T operator()(std::size_t r, std::size_t c) const {
    return is_transposed ? stored(c, r) : stored(r, c);
  }

  MatrixView<const T> stored;
  bool is_transposed = false;
};

/// The transpose of a matrix as a factor.
template <typename T>
Factor<std::remove_const_t<T>> transposed(MatrixView<T> matrix) {
  return {matrix, true};
}

/// The update of the matrix that receives a product.
enum class Update {
  kAssign,    ///< C = A B: sums start at 0
  kAdd,       ///< C += A B: sums start at C, terms are added one by one
  kSubtract,  ///< C -= A B: sums start at C, terms are subtracted one by one
};

/// Which elements of the result are computed; the others keep their values.
enum class Region {
  kAll,
  kUpper,  ///< the diagonal and what is right of it
};

/// C[i, j] = sum_k A[i, k] B[k, j], or C plus or minus it. The terms are added in the order of k,
/// each product and each sum rounded: no fused operation. The result is the same, bit for bit, on
/// every target and for every blocking.
/// @param a  [m, n]
/// @param b  [n, o]
/// @param c  [m, o]; overlaps neither factor
void matmul(const Factor<double>& a, const Factor<double>& b, MatrixView<double> c,
            Update update = Update::kAssign, Region region = Region::kAll) noexcept;
void matmul(const Factor<float>& a, const Factor<float>& b, MatrixView<float> c,
            Update update = Update::kAssign, Region region = Region::kAll) noexcept;

/// Reference implementation of matmul() in plain loops.
void matmul_reference(const Factor<double>& a, const Factor<double>& b, MatrixView<double> c,
                      Update update, Region region) noexcept;
void matmul_reference(const Factor<float>& a, const Factor<float>& b, MatrixView<float> c,
                      Update update, Region region) noexcept;

/// y[c, r] = x[r, c], for elements of four bytes or one of any meaning.
/// @param x  [m, n]
/// @param y  [n, m]; no part of x
void transpose(MatrixView<const std::uint32_t> x, MatrixView<std::uint32_t> y) noexcept;
void transpose(MatrixView<const std::uint8_t> x, MatrixView<std::uint8_t> y) noexcept;

/// Reference implementation of transpose() in plain loops.
template <typename T>
void transpose_reference(MatrixView<const T> x, MatrixView<T> y) noexcept {
  for (std::size_t r = 0; r < x.rows(); ++r) {
    for (std::size_t c = 0; c < x.cols(); ++c) y(c, r) = x(r, c);
  }
}

}  // namespace halftone::kernels
