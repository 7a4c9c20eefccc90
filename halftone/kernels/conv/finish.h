// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/kernels/conv/conv_finish.h"

namespace halftone::kernels {

/// y[pixel, o] = min(max(y[pixel, o] + base[o] + residual[pixel, o], low), high), for all outputs.
/// @param base  [outputs]
void finish_pixel(const float* base, const ConvFinish& finish, std::size_t pixel,
                  MatrixView<float> y) noexcept;

}  // namespace halftone::kernels
