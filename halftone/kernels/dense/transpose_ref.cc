// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/dense/transpose.h"

namespace halftone::kernels {

void transpose_reference(MatrixView<const std::uint32_t> x, MatrixView<std::uint32_t> y) noexcept {
  for (std::size_t r = 0; r < x.rows(); ++r) {
    for (std::size_t c = 0; c < x.cols(); ++c) y(c, r) = x(r, c);
  }
}

}  // namespace halftone::kernels
