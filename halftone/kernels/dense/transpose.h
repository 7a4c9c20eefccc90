// SPDX-License-Identifier: Apache-2.0
// Transposes a matrix.
#pragma once

#include <cstddef>
#include <cstdint>

#include "halftone/base/view.h"

namespace halftone::kernels {

/// y[c, r] = x[r, c], for elements of four bytes or one of any meaning.
/// @param x  [m, n]
/// @param y  [n, m]; no part of x
void transpose(MatrixView<const std::uint32_t> x, MatrixView<std::uint32_t> y) noexcept;
void transpose(MatrixView<const std::uint8_t> x, MatrixView<std::uint8_t> y) noexcept;

/// Reference implementation of transpose() in plain loops.
template <typename T>
void transpose_reference(MatrixView<const T> x, MatrixView<T> y) noexcept {
  for (std::size_t r = 0; r < x.rows(); ++r) {
    for (std::size_t c = 0; c < x.cols(); ++c) y(c, r) = x(r, c);
  }
}

}  // namespace halftone::kernels
