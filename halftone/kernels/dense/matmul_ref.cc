// SPDX-License-Identifier: Apache-2.0
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

void matmul_reference(const Factor<double>& a, const Factor<double>& b, MatrixView<double> c,
                      Update update, Region region) noexcept {
  multiply(a, b, c, update, region);
}

void matmul_reference(const Factor<float>& a, const Factor<float>& b, MatrixView<float> c,
                      Update update, Region region) noexcept {
  multiply(a, b, c, update, region);
}

}  // namespace halftone::kernels
