// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/kernels/conv/conv_testing.h"
#include "halftone/kernels/conv/float_conv.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using FloatConvTranspose = PerTarget;

/// An axis of a transposed convolution; its output extent follows from the other extents.
/// @param padding  what is cut off the output
ConvAxis transposed_axis(std::size_t input, std::size_t kernel, std::size_t stride = 1,
                         Padding padding = {}, std::size_t dilation = 1) {
  const std::size_t all = (input - 1) * stride + (kernel - 1) * dilation + 1;
  return {input, all - padding.before - padding.after, kernel, stride, dilation, padding.before};
}

/// Strides, dilations, cuts on both sides, gaps without terms, one to three axes, several images.
std::vector<ConvShape> transposed_shapes(std::size_t channels, std::size_t outputs) {
  const ConvAxis one{};
  ConvAxis longer = transposed_axis(5, 2, 4, {1, 0});
  longer.output += 3;  // output padding
  const std::array<std::array<ConvAxis, 3>, 9> axes = {{
      {one, one, transposed_axis(9, 3, 1, {1, 1})},
      {one, one, transposed_axis(7, 4, 3, {2, 0}, 2)},
      {one, transposed_axis(5, 4, 2, {1, 1}), transposed_axis(6, 4, 2, {1, 1})},
      {one, transposed_axis(4, 2, 2), transposed_axis(5, 2, 2)},
      {one, transposed_axis(1, 4), transposed_axis(1, 4)},
      {one, transposed_axis(4, 3, 2, {2, 1}, 2), transposed_axis(5, 3, 3, {0, 3}, 3)},
      {one, longer, longer},
      {one, transposed_axis(3, 5, 1, {4, 0}), transposed_axis(6, 3, 1, {0, 5})},
      {transposed_axis(3, 3, 2, {1, 1}), transposed_axis(3, 2, 1, {0, 1}),
       transposed_axis(4, 3, 2, {1, 1})},
  }};
  std::vector<ConvShape> shapes;
  for (const auto& a : axes) {
    for (const std::size_t groups : {1U, 3U}) {
      shapes.push_back({2, a, groups * channels, groups * outputs, groups});
    }
  }
  return shapes;
}

/// Random operands of a transposed convolution.
struct Operands {
  Operands(const ConvShape& shape, Random& random)
      : x(numerics::random_floats(random,
                                  shape.images * shape.image_input_pixels() * shape.channels)),
        w(numerics::random_floats(random, shape.outputs * shape.inputs())),
        bias(numerics::random_floats(random, shape.outputs)) {}

  std::vector<float> x;
  std::vector<float> w;
  std::vector<float> bias;
};

/// Expects the bits of the reference implementation, `step` pixels at a time.
void expect_transpose_matches(const ConvShape& shape, Random& random,
                              std::size_t step = ~std::size_t{0}) {
  const Operands operands(shape, random);
  for (const std::span<const float> bias : {std::span<const float>(operands.bias), {}}) {
    const FloatConvTransposeWeights weights(shape, operands.w, bias);
    std::vector<float> y(shape.num_pixels() * shape.outputs, -77.0F);
    const MatrixView<float> all(y, shape.num_pixels(), shape.outputs);
    AlignedBuffer scratch(weights.scratch_bytes());
    for (std::size_t p = 0; p < shape.num_pixels();) {
      const std::size_t count = std::min(step, shape.num_pixels() - p);
      float_conv_transpose(operands.x.data(), weights, {p, p + count}, scratch.bytes(),
                           all.rows_from(p, count));
      p += count;
    }
    std::vector<float> expected(y.size());
    float_conv_transpose_reference(shape, operands.x, operands.w, bias,
                                   MatrixView<float>(expected, all.rows(), all.cols()));
    EXPECT_EQ(y, expected) << to_string(shape);
  }
}

TEST_P(FloatConvTranspose, MatchesReferenceForEveryShape) {
  Random random(80);
  for (const ConvShape& shape : transposed_shapes(5, 18)) expect_transpose_matches(shape, random);
}

TEST_P(FloatConvTranspose, MatchesReferenceForEveryNumberOfOutputs) {
  Random random(81);
  const ConvAxis axis = transposed_axis(4, 4, 2, {1, 1});
  for (std::size_t outputs = 1; outputs <= 33; ++outputs) {
    expect_transpose_matches({1, {ConvAxis{}, axis, axis}, 4, outputs, 1}, random);
  }
}

TEST_P(FloatConvTranspose, MatchesReferenceForEveryNumberOfDepthwiseChannels) {
  Random random(82);
  const ConvAxis axis = transposed_axis(4, 4, 2, {1, 1});
  const ConvAxis dilated = transposed_axis(4, 2, 2, {1, 0}, 3);
  for (std::size_t channels = 1; channels <= 35; ++channels) {
    expect_transpose_matches({1, {ConvAxis{}, axis, dilated}, channels, channels, channels},
                             random);
  }
}

TEST_P(FloatConvTranspose, ContinuesLongSumsAndLargeImagesBlockByBlock) {
  Random random(83);
  const ConvAxis axis = transposed_axis(2, 3, 2, {1, 1});
  expect_transpose_matches({1, {ConvAxis{}, axis, axis}, 700, 21, 1}, random);
  const ConvAxis wide = transposed_axis(21, 3, 2, {1, 1});
  expect_transpose_matches({1, {ConvAxis{}, wide, wide}, 3, 20, 1}, random);
}

TEST_P(FloatConvTranspose, DoesNotDependOnRangesOfPixels) {
  Random random(84);
  for (const std::size_t step : {1U, 7U, 40U}) {
    for (const ConvShape& shape : transposed_shapes(2, 3)) {
      expect_transpose_matches(shape, random, step);
    }
  }
}

TEST(FloatConvTransposeReference, IsTheGradientOfAConvolution) {
  // <y, conv(x)> = <transpose(y), x> for the convolution with the same weights, where the sums are
  // over integers and therefore exact.
  Random random(85);
  const auto integers = [&](std::size_t count) {
    std::vector<float> values(count);
    for (float& v : values) v = std::round(static_cast<float>(8 * random.uniform() - 4));
    return values;
  };
  for (const ConvShape& shape : transposed_shapes(2, 3)) {
    ConvShape conv = shape;
    std::swap(conv.channels, conv.outputs);
    for (ConvAxis& axis : conv.axes) std::swap(axis.input, axis.output);
    const auto y = integers(shape.images * shape.image_input_pixels() * shape.channels);
    const auto x = integers(shape.num_pixels() * shape.outputs);
    const auto w = integers(shape.outputs * shape.inputs());
    // [outputs, taps, channels / groups] of the transposed convolution, turned within each group.
    std::vector<float> turned(w.size());
    const std::size_t outputs = shape.group_outputs();
    const std::size_t channels = shape.group_channels();
    for (std::size_t i = 0; i < w.size(); ++i) {
      const std::size_t o = i / shape.inputs();
      const std::size_t c = o / outputs * channels + i % channels;
      turned[(c * shape.taps() + i % shape.inputs() / channels) * outputs + o % outputs] = w[i];
    }
    std::vector<float> up(x.size());
    float_conv_transpose_reference(shape, y, w, {},
                                   MatrixView<float>(up, shape.num_pixels(), shape.outputs));
    const PlainConv down = plain_conv(conv, x, turned, {});
    double left = 0;
    double right = 0;
    for (std::size_t i = 0; i < y.size(); ++i) left += static_cast<double>(y[i]) * down.y[i];
    for (std::size_t i = 0; i < x.size(); ++i) {
      right += static_cast<double>(x[i]) * static_cast<double>(up[i]);
    }
    EXPECT_EQ(left, right) << to_string(shape);
  }
}

TEST(FloatConvTransposeWeights, RejectsGroupsThatDoNotDivide) {
  ConvShape shape = square_shape(3, 4, 6, 3);
  shape.groups = 3;
  expect_error(ErrorKind::kShape, "3 groups do not divide",
               [&] { FloatConvTransposeWeights(shape, {}, {}); });
}

HALFTONE_INSTANTIATE_PER_TARGET(FloatConvTranspose);

}  // namespace
}  // namespace halftone::kernels
