// SPDX-License-Identifier: Apache-2.0
#include "halftone/formats/fourier.h"

#include <cmath>
#include <cstddef>
#include <numbers>

namespace halftone::formats {
namespace {

using ir::Dim;

/// e^(2 pi i k / n), exact at the quarters.
struct Root {
  double real;
  double imaginary;
};
Root root_of_unity(Dim k, Dim n) {
  k %= n;
  if (4 * k % n == 0) {
    constexpr Root kQuarters[] = {{1, 0}, {0, 1}, {-1, 0}, {0, -1}};
    return kQuarters[4 * k / n];
  }
  const double angle = 2 * std::numbers::pi * static_cast<double>(k) / static_cast<double>(n);
  return {std::cos(angle), std::sin(angle)};
}

}  // namespace

void fill_fourier_matrix(const FourierTransform& t, std::span<float> matrix) {
  const double scale = t.inverse ? 1 / static_cast<double>(t.length) : 1;
  for (Dim n = 0; n < t.inputs; ++n) {
    const bool is_alone = n == 0 || 2 * n == t.length;
    const double weight = t.mirrors && !is_alone ? 2 * scale : scale;
    for (Dim k = 0; k < t.outputs; ++k) {
      const Root root = root_of_unity(n * k, t.length);
      const double c = weight * root.real;
      const double s = weight * (t.inverse ? root.imaginary : -root.imaginary);
      const double entries[2][2] = {{c, s}, {-s, c}};  // by part of the input, part of the output
      for (Dim i = 0; i < t.input_parts; ++i) {
        for (Dim o = 0; o < t.output_parts; ++o) {
          const Dim row = n * t.input_parts + i;
          const Dim column = k * t.output_parts + o;
          matrix[static_cast<std::size_t>(row * t.outputs * t.output_parts + column)] =
              static_cast<float>(entries[i][o]);
        }
      }
    }
  }
}

}  // namespace halftone::formats
