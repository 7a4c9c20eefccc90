// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/kernels/conv/bit_conv.h"
#include "halftone/kernels/conv/conv_testing.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/targets.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using BitConvLayouts = PerTarget;

TEST_P(BitConvLayouts, FewChannelsOfManyColumnsAreSixes) {
  const bool permutes = current_simd_target() == "AVX3_DL";
  const auto expect_layout = [&](std::size_t channels, std::size_t outputs, std::size_t groups,
                                 BitConvLayout layout) {
    EXPECT_EQ(preferred_bit_conv_layout(square_shape(3, channels, outputs, 3, 1, groups), 2),
              permutes ? layout : BitConvLayout::kTables)
        << channels << " to " << outputs << " channels in " << groups << " groups";
  };
  expect_layout(1, 64, 1, BitConvLayout::kSixes);
  expect_layout(3, 32, 1, BitConvLayout::kSixes);
  expect_layout(12, 64, 2, BitConvLayout::kSixes);
  expect_layout(3, 16, 1, BitConvLayout::kFours);
  expect_layout(16, 64, 1, BitConvLayout::kFours);
  expect_layout(64, 64, 1, BitConvLayout::kFours);
  expect_layout(128, 640, 1, BitConvLayout::kFours);
}

struct LayoutWeights {
  ConvShape shape;
  int w_bits;

  [[nodiscard]] BitConvWeights pack(BitConvLayout layout) const {
    Random random(29);
    const auto codes = numerics::random_planes(random, shape.outputs, shape.inputs(), w_bits);
    const auto encoding = numerics::random_encoding(random, shape.outputs, shape.inputs(), w_bits,
                                                    true, numerics::Granularity::kChannel);
    return {shape, {codes, encoding}, numerics::affine_basis(2, 0.1F, 0), layout};
  }
};

// No piece has channels from both sides of a multiple of 64.
TEST(BitConvLayouts, PiecesHoldSixEightOrSixteenChannels) {
  const auto pieces = [](BitConvLayout layout, std::size_t channels) {
    return LayoutWeights{square_shape(3, channels, 4, 1), 1}.pack(layout).tap_pieces();
  };
  for (const std::size_t channels : {1U, 5U, 6U, 7U, 16U, 17U, 63U, 64U, 65U, 70U, 71U, 128U}) {
    const auto rounded = [&](std::size_t inputs) { return (channels + inputs - 1) / inputs; };
    const std::size_t sixes = channels / 64 * 11 + (channels % 64 + 5) / 6;
    EXPECT_EQ(pieces(BitConvLayout::kTables, channels), rounded(8)) << channels;
    EXPECT_EQ(pieces(BitConvLayout::kSixes, channels), sixes) << channels;
    EXPECT_EQ(pieces(BitConvLayout::kFours, channels), rounded(16)) << channels;
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(BitConvLayouts);

}  // namespace
}  // namespace halftone::kernels
