// SPDX-License-Identifier: Apache-2.0
// The windows of a convolution as rows of a matrix.
#pragma once

#include <cstdint>

#include "halftone/base/view.h"
#include "halftone/kernels/conv/conv_shape.h"

namespace halftone::kernels {

/// Pixels [first, first + count) of an output line.
struct PixelRange {
  std::size_t line = 0;
  std::size_t first = 0;
  std::size_t count = 0;
};

/// rows[p, tap channels + c] = x[the pixel that tap reads, first channel of the group + c], 0
/// outside the image.
/// @param x     [images, pixels, channels]
/// @param rows  [pixels.count, inputs of an output], contiguous
void gather_windows(const ConvShape& shape, const std::int8_t* x, std::size_t group,
                    const PixelRange& pixels, MatrixView<std::int8_t> rows) noexcept;

}  // namespace halftone::kernels
