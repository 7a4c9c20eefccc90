// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/dense/float_matmul.h"

namespace halftone::kernels {

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

}  // namespace halftone::kernels
