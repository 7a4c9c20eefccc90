// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/bit_matmul/bit_matmul.h"

#include "halftone/kernels/bit_matmul/layouts.h"

namespace halftone::kernels {

BitLayout preferred_bit_layout(std::size_t outputs, std::size_t inputs) {
  // Measured on Zen 3: for few outputs, blocks of 8 save more padding than look-ups gain. Long
  // rows, which come from the third-level cache, stream better word by word.
  constexpr std::size_t kFewOutputs = 16;
  constexpr std::size_t kLongRow = 2048;
  const bool pays = outputs > kFewOutputs && inputs <= kLongRow;
  return pays && lookup_beats_popcount() ? BitLayout::kLookup : BitLayout::kWords;
}

void bit_matmul(std::span<const std::uint64_t> x, const numerics::Basis& x_basis,
                const BitMatmulWeights& weights, BlockRange blocks, MatrixView<float> y) noexcept {
  HALFTONE_ASSERT(y.cols() == weights.outputs());
  HALFTONE_ASSERT(x.size() == y.rows() * x_basis.a().size() * weights.words());
  HALFTONE_ASSERT(blocks.begin <= blocks.end && blocks.end <= weights.num_blocks());
  const auto kernel = weights.layout() == BitLayout::kWords ? bit_matmul_words : bit_matmul_lookup;
  kernel(x.data(), x_basis, weights, blocks, y);
}

}  // namespace halftone::kernels
