// SPDX-License-Identifier: Apache-2.0
// Fourier transforms as products with constant matrices. A complex number is a last axis of two.
#pragma once

#include <span>

#include "halftone/ir/shape.h"

namespace halftone::formats {

/// A transform of `length` points, of which `inputs` are given (the others are zero) and `outputs`
/// asked for.
struct FourierTransform {
  ir::Dim length = 0;
  ir::Dim inputs = 0;
  ir::Dim outputs = 0;
  ir::Dim input_parts = 2;   ///< 1 for real numbers
  ir::Dim output_parts = 2;  ///< likewise
  bool inverse = false;
  bool mirrors = false;  ///< the given points are half of those of a real result
};

/// Writes the matrix [inputs input_parts, outputs output_parts] of the transform
///
///     y_k = sum_n x_n e^(-2 pi i n k / length)
///     y_k = sum_n x_n e^(2 pi i n k / length) / length, inverse
///
/// which is computed in double precision. @pre the matrix has these extents, length > 0
void fill_fourier_matrix(const FourierTransform& transform, std::span<float> matrix);

}  // namespace halftone::formats
