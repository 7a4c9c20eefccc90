// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/int8_matmul/level_matmul.h"

#include "halftone/kernels/int8_matmul/level_layouts.h"

namespace halftone::kernels {

void level_matmul(const Int8Rows& x, const LevelMatmulWeights& weights, BlockRange blocks,
                  MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(x.q.cols() == weights.inputs() && y.cols() == weights.outputs());
  HALFTONE_ASSERT(x.q.rows() == y.rows() && x.scales.size() == y.rows());
  HALFTONE_ASSERT(blocks.begin <= blocks.end && blocks.end <= weights.num_blocks());
  const auto kernel =
      weights.layout() == LevelLayout::kBytes ? level_matmul_bytes : level_matmul_nibbles;
  kernel(x, weights, blocks, y);
}

}  // namespace halftone::kernels
