// SPDX-License-Identifier: Apache-2.0
// level_matmul() for each layout of the weights. Arguments as there.
#pragma once

#include "halftone/kernels/int8_matmul/level_matmul.h"

namespace halftone::kernels {

void level_matmul_bytes(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                        MatrixView<float> y) noexcept;

void level_matmul_nibbles(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                          MatrixView<float> y) noexcept;

}  // namespace halftone::kernels
