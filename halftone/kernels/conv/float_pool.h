// SPDX-License-Identifier: Apache-2.0
// Maxima and means of float32 windows; the same bits on every processor.
#pragma once

#include "halftone/base/view.h"
#include "halftone/kernels/conv/conv_finish.h"
#include "halftone/kernels/conv/conv_shape.h"

namespace halftone::kernels {

/// A pooling of each channel by itself.
struct FloatPool {
  ConvShape shape;     ///< as many outputs and groups as channels
  bool is_max = true;  ///< otherwise the mean
  bool counts_padding =
      false;  ///< whether a mean divides by all taps, or by those inside the image
};

/// y[p, c] = the largest x[q, c], or their mean, over the pixels q of the window of p inside the
/// image. A maximum starts from -infinity; a pixel replaces it if it is larger. A mean adds in
/// float64 from 0 on in the order of taps, the last axis fastest, divides by at least 1, and rounds
/// once to float32. The result is the same, bit for bit, on every target and for any division into
/// ranges of lines.
/// @param x      [images, pixels, channels]
/// @param lines  which lines to compute
/// @param y      [pixels of `lines`, channels]
void float_pool(const float* x, const FloatPool& pool, LineRange lines,
                MatrixView<float> y) noexcept;

/// Reference implementation of float_pool() in plain loops.
/// @param y  [pixels, channels]
void float_pool_reference(const float* x, const FloatPool& pool, MatrixView<float> y) noexcept;

}  // namespace halftone::kernels
