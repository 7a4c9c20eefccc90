// SPDX-License-Identifier: Apache-2.0
// plane_matmul() for each layout of the weights. Arguments as there.
#pragma once

#include "halftone/kernels/int8_matmul/plane_matmul.h"

namespace halftone::kernels {

void plane_matmul_fours(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                        MatrixView<float> y) noexcept;

void plane_matmul_fives(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                        MatrixView<float> y) noexcept;

/// Whether the current target looks up 32 entries of 16 bits at once.
bool looks_up_fives() noexcept;

}  // namespace halftone::kernels
