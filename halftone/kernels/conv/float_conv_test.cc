// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/float_conv.h"

#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/kernels/conv/conv_testing.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using FloatConv = PerTarget;

/// Expects the bits of the reference implementation, `lines` lines at a time.
void expect_float_conv_matches(const ConvShape& shape, Random& random, bool has_bias = true,
                               std::size_t lines = ~std::size_t{0}) {
  const auto x =
      numerics::random_floats(random, shape.images * shape.image_input_pixels() * shape.channels);
  const auto w = numerics::random_floats(random, shape.outputs * shape.inputs());
  const auto bias = numerics::random_floats(random, has_bias ? shape.outputs : 0);
  const FloatConvWeights weights(shape, w, bias);
  const auto y =
      compute_lines(shape, {}, lines, weights.scratch_bytes(), [&](const ConvPart& part) {
        float_conv(x.data(), weights, part.lines, part.scratch, part.y);
      });
  std::vector<float> expected(y.size());
  float_conv_reference(shape, x, w, bias,
                       MatrixView<float>(expected, shape.num_pixels(), shape.outputs));
  EXPECT_EQ(y, expected) << to_string(shape);
}

TEST_P(FloatConv, MatchesReferenceForEveryShape) {
  Random random(70);
  for (const ConvShape& shape : shapes_to_test(5, 18)) expect_float_conv_matches(shape, random);
}

TEST_P(FloatConv, MatchesReferenceForEveryNumberOfOutputs) {
  Random random(71);
  for (std::size_t outputs = 1; outputs <= 33; ++outputs) {
    expect_float_conv_matches(square_shape(3, 4, outputs, 3), random);
    expect_float_conv_matches(square_shape(3, 4, outputs, 1), random, false);
  }
}

TEST_P(FloatConv, MatchesReferenceForEveryNumberOfPixels) {
  Random random(72);
  for (std::size_t width = 1; width <= 25; ++width) {
    const ConvShape shape{1, {ConvAxis{}, make_axis(2, 1), make_axis(width, 1)}, 7, 20, 1};
    expect_float_conv_matches(shape, random);
  }
}

TEST_P(FloatConv, MatchesReferenceForEveryNumberOfDepthwiseChannels) {
  Random random(73);
  for (std::size_t channels = 1; channels <= 35; ++channels) {
    expect_float_conv_matches(square_shape(4, channels, channels, 3, 1, channels), random);
  }
  const ConvAxis unpadded = make_axis(9, 3, 2);
  expect_float_conv_matches({2, {ConvAxis{}, unpadded, unpadded}, 32, 32, 32}, random);
}

TEST_P(FloatConv, ContinuesLongSumsBlockByBlock) {
  Random random(74);
  expect_float_conv_matches(square_shape(3, 150, 21, 3), random);
  expect_float_conv_matches(square_shape(2, 700, 3, 1), random);
}

TEST_P(FloatConv, DoesNotDependOnRangesOfLines) {
  Random random(75);
  for (const std::size_t lines : {1U, 2U, 5U}) {
    expect_float_conv_matches(square_shape(7, 6, 9, 3), random, true, lines);
    expect_float_conv_matches(square_shape(40, 64, 5, 5), random, true, lines);
    expect_float_conv_matches(square_shape(7, 6, 9, 1), random, true, lines);
  }
}

TEST_P(FloatConv, IsCloseToTheExactSum) {
  Random random(76);
  for (const ConvShape& shape : shapes_to_test(4, 3)) {
    const auto x =
        numerics::random_floats(random, shape.images * shape.image_input_pixels() * shape.channels);
    const auto w = numerics::random_floats(random, shape.outputs * shape.inputs());
    const auto bias = numerics::random_floats(random, shape.outputs);
    std::vector<float> y(shape.num_pixels() * shape.outputs);
    float_conv_reference(shape, x, w, bias,
                         MatrixView<float>(y, shape.num_pixels(), shape.outputs));
    const PlainConv exact = plain_conv(shape, x, w, bias);
    // Each term is rounded in its product and in all later sums.
    const double ulps = static_cast<double>(shape.inputs()) + 2;
    for (std::size_t i = 0; i < y.size(); ++i) {
      EXPECT_NEAR(y[i], exact.y[i], exact.sizes[i] * ulps * 0x1p-24) << to_string(shape);
    }
  }
}

TEST(FloatConvWeights, RejectsGroupsThatDoNotDivide) {
  ConvShape shape = square_shape(3, 4, 6, 3);
  shape.groups = 3;
  expect_error(ErrorKind::kShape, "3 groups do not divide",
               [&] { FloatConvWeights(shape, {}, {}); });
}

HALFTONE_INSTANTIATE_PER_TARGET(FloatConv);

}  // namespace
}  // namespace halftone::kernels
