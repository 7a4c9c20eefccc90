// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/attention/rotary.h"

namespace halftone::kernels {

void rotate_reference(const RotaryShape& shape, MatrixView<const float> x,
                      std::span<const std::int32_t> positions, const RotaryTables& tables,
                      MatrixView<float> y) noexcept {
  const std::size_t size = x.cols() / shape.heads;
  const std::size_t pairs = shape.dims / 2;
  const bool halves = shape.pairing == RotaryPairing::kNeox;
  for (std::size_t r = 0; r < x.rows(); ++r) {
    const auto position = static_cast<std::size_t>(positions[r]);
    for (std::size_t h = 0; h < shape.heads; ++h) {
      for (std::size_t i = 0; i < pairs; ++i) {
        const std::size_t at_a = h * size + (halves ? i : 2 * i);
        const std::size_t at_b = at_a + (halves ? pairs : 1);
        const float a = x(r, at_a);
        const float b = x(r, at_b);
        const float c = tables.cosines(position, i);
        const float s = tables.sines(position, i);
        y(r, at_a) = a * c - b * s;
        y(r, at_b) = a * s + b * c;
      }
      for (std::size_t i = shape.dims; i < size; ++i) y(r, h * size + i) = x(r, h * size + i);
    }
  }
}

}  // namespace halftone::kernels
