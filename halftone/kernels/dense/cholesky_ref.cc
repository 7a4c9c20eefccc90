// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "halftone/kernels/dense/cholesky.h"

namespace halftone::kernels {

bool cholesky_reference(MatrixView<double> a) {
  for (std::size_t k = 0; k < a.rows(); ++k) {
    for (std::size_t j = k; j < a.cols(); ++j) {
      for (std::size_t i = 0; i < k; ++i) a(k, j) -= a(i, k) * a(i, j);
    }
    if (!(a(k, k) > 0)) return false;
    a(k, k) = std::sqrt(a(k, k));
    for (std::size_t j = k + 1; j < a.cols(); ++j) a(k, j) /= a(k, k);
  }
  return true;
}

void solve_transposed_reference(MatrixView<const double> u, MatrixView<double> b) {
  for (std::size_t k = 0; k < b.rows(); ++k) {
    for (std::size_t j = 0; j < b.cols(); ++j) {
      for (std::size_t i = 0; i < k; ++i) b(k, j) -= u(i, k) * b(i, j);
      b(k, j) /= u(k, k);
    }
  }
}

}  // namespace halftone::kernels
