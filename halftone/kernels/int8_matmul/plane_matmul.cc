// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/int8_matmul/plane_matmul.h"

#include "halftone/kernels/int8_matmul/plane_layouts.h"

namespace halftone::kernels {

PlaneLayout preferred_plane_layout() {
  return looks_up_fives() ? PlaneLayout::kSubsetTables : PlaneLayout::kFours;
}

void plane_matmul(const Int8Rows& x, const PlaneMatmulWeights& weights, BlockRange blocks,
                  MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(x.q.cols() == weights.inputs() && y.cols() == weights.outputs());
  HALFTONE_ASSERT(x.q.rows() == y.rows() && x.scales.size() == y.rows());
  HALFTONE_ASSERT(blocks.begin <= blocks.end && blocks.end <= weights.num_blocks());
  if (weights.layout() == PlaneLayout::kFours) return plane_matmul_fours(x, weights, blocks, y);
  plane_matmul_fives(x, weights, blocks, y);
}

}  // namespace halftone::kernels
