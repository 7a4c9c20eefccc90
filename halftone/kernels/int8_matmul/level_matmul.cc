// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/int8_matmul/level_matmul.h"

#include "halftone/kernels/core.h"
#include "halftone/kernels/int8_matmul/level_layouts.h"

namespace halftone::kernels {

LevelLayout preferred_byte_levels() noexcept {
  return prefers_small_levels() ? LevelLayout::kSmallBytes : LevelLayout::kBytes;
}

void level_matmul(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                  MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(x.q.cols() == weights.inputs() && y.cols() == weights.outputs());
  HALFTONE_ASSERT(x.q.rows() == y.rows() && x.scales.size() == y.rows());
  HALFTONE_ASSERT(blocks.begin <= blocks.end && blocks.end <= weights.num_blocks());
  switch (weights.layout()) {
    case LevelLayout::kBytes:
    case LevelLayout::kSmallBytes:
      return level_matmul_bytes(x, weights, blocks, y);
    case LevelLayout::kNibbles:
      return level_matmul_nibbles(x, weights, blocks, y);
  }
}

}  // namespace halftone::kernels
