// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <limits>

#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/activation/softmax.h"

namespace halftone::kernels {

void softmax_reference(MatrixView<const float> x, MatrixView<float> y) noexcept {
  for (std::size_t r = 0; r < x.rows(); ++r) {
    float largest = -std::numeric_limits<float>::infinity();
    for (const float value : x.row(r)) largest = value > largest ? value : largest;
    std::array<float, 16> partial{};
    for (std::size_t c = 0; c < x.cols(); ++c) {
      y(r, c) = exp_reference(x(r, c) - largest);
      partial[c % 16] += y(r, c);
    }
    for (std::size_t h = 8; h != 0; h /= 2) {
      for (std::size_t l = 0; l < h; ++l) partial[l] += partial[l + h];
    }
    for (float& value : y.row(r)) value /= partial[0];
  }
}

}  // namespace halftone::kernels
