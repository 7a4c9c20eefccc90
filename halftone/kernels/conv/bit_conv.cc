// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/bit_conv.h"

#include <algorithm>

#include "halftone/kernels/conv/bit_layouts.h"

namespace halftone::kernels {

BitConvLayout preferred_bit_conv_layout(std::size_t columns) {
  if (!permutes_bytes()) return BitConvLayout::kTables;
  // A vector of sixes has 4 columns and 6 inputs, one of fours 1 column and 16 inputs.
  const std::size_t vectors = (columns + 3) / 4;
  return columns * 6 > vectors * 16 ? BitConvLayout::kSixes : BitConvLayout::kFours;
}

BitConvLayout preferred_bit_conv_layout(const ConvShape& shape, int bits) {
  constexpr std::size_t kBlock = BitConvWeights::kBlock;
  const std::size_t blocks = (shape.group_outputs() + kBlock - 1) / kBlock;
  return preferred_bit_conv_layout(static_cast<std::size_t>(bits) *
                                   std::min(blocks, BitConvWeights::kPanelBlocks));
}

void bit_conv(std::span<const std::uint64_t> x, const BitConvWeights& weights,
              const ConvPart& part) noexcept {
  HALFTONE_ASSERT(are_outputs(part.y, weights.shape(), part.lines));
  HALFTONE_ASSERT(part.scratch.size() >= weights.scratch_bytes());
  const auto kernel =
      weights.layout() == BitConvLayout::kTables ? bit_conv_tables : bit_conv_permutes;
  kernel(x.data(), weights, part);
}

}  // namespace halftone::kernels
