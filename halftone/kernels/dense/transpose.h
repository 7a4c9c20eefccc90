// SPDX-License-Identifier: Apache-2.0
// Transposes a matrix.
#pragma once

#include <cstdint>

#include "halftone/base/view.h"

namespace halftone::kernels {

/// y[c, r] = x[r, c], for elements of four bytes of any meaning.
/// @param x  [m, n]
/// @param y  [n, m]; no part of x
void transpose(MatrixView<const std::uint32_t> x, MatrixView<std::uint32_t> y) noexcept;

/// Reference implementation of transpose() in plain loops.
void transpose_reference(MatrixView<const std::uint32_t> x, MatrixView<std::uint32_t> y) noexcept;

}  // namespace halftone::kernels
