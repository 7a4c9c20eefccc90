// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/dense/integer_matmul.h"

namespace halftone::kernels {

void integer_matmul_reference(MatrixView<const std::int16_t> x, MatrixView<const std::int16_t> w,
                              MatrixView<std::int32_t> y) noexcept {
  for (std::size_t r = 0; r < y.rows(); ++r) {
    for (std::size_t o = 0; o < y.cols(); ++o) {
      auto sum = static_cast<std::uint32_t>(y(r, o));
      for (std::size_t k = 0; k < w.cols(); ++k) {
        sum += static_cast<std::uint32_t>(std::int32_t{x(r, k)} * std::int32_t{w(o, k)});
      }
      y(r, o) = static_cast<std::int32_t>(sum);
    }
  }
}

}  // namespace halftone::kernels
