// SPDX-License-Identifier: Apache-2.0
#include <cmath>

#include "halftone/kernels/dense/cholesky.h"
#include "halftone/kernels/dense/float_matmul.h"
#include "halftone/kernels/dense/matmul.h"

namespace halftone::kernels {
namespace {

template <typename T>
void multiply(const Factor<T>& a, const Factor<T>& b, MatrixView<T> c, Update update,
              Region region) {
  for (std::size_t i = 0; i < c.rows(); ++i) {
    for (std::size_t j = region == Region::kUpper ? i : 0; j < c.cols(); ++j) {
      T sum = update == Update::kAssign ? T{0} : c(i, j);
      for (std::size_t k = 0; k < a.cols(); ++k) {
        const T term = a(i, k) * b(k, j);
        sum = update == Update::kSubtract ? sum - term : sum + term;
      }
      c(i, j) = sum;
    }
  }
}

}  // namespace

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

void float_matmul_reference(MatrixView<const float> x, MatrixView<const float> w,
                            MatrixView<float> y) noexcept {
  for (std::size_t r = 0; r < y.rows(); ++r) {
    for (std::size_t o = 0; o < y.cols(); ++o) {
      float sum = y(r, o);
      for (std::size_t k = 0; k < x.cols(); ++k) sum += x(r, k) * w(o, k);
      y(r, o) = sum;
    }
  }
}

void matmul_reference(const Factor<double>& a, const Factor<double>& b, MatrixView<double> c,
                      Update update, Region region) noexcept {
  multiply(a, b, c, update, region);
}

void matmul_reference(const Factor<float>& a, const Factor<float>& b, MatrixView<float> c,
                      Update update, Region region) noexcept {
  multiply(a, b, c, update, region);
}

}  // namespace halftone::kernels
