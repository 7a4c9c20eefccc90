// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/depthwise_conv.h"

#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/kernels/conv/conv_testing.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using numerics::Granularity;
using DepthwiseConv = PerTarget;

/// The same number of groups, outputs and channels.
ConvShape depthwise(std::array<ConvAxis, 3> axes, std::size_t channels, std::size_t images = 1) {
  return {images, axes, channels, channels, channels};
}

struct DepthwiseProblem {
  ConvShape shape;
  std::vector<std::int8_t> q;
  float scale = 0.25F;
  float offset = 0.75F;
  numerics::BitPlanes w;
  numerics::MatrixEncoding encoding;
  std::vector<float> bias;
  std::vector<float> residual;

  DepthwiseProblem(Random& random, const ConvShape& s, int bits,
                   Granularity granularity = Granularity::kChannel)
      : shape(s),
        q(s.images * s.image_input_pixels() * s.channels),
        w(numerics::random_planes(random, s.outputs, s.inputs(), bits)),
        encoding(numerics::random_encoding(random, s.outputs, s.inputs(), bits, true, granularity,
                                           granularity == Granularity::kGroup ? 2 : 0)),
        bias(numerics::random_floats(random, s.outputs)),
        residual(numerics::random_floats(random, s.num_pixels() * s.outputs)) {
    for (auto& v : q) v = static_cast<std::int8_t>(static_cast<int>(random.next() % 256) - 128);
  }

  [[nodiscard]] Int8Pixels pixels() const { return {q.data(), scale, offset}; }
  [[nodiscard]] ConvFinish finish() const {
    return {MatrixView<const float>(residual, shape.num_pixels(), shape.outputs), -40, 60};
  }

  [[nodiscard]] std::vector<float> run(const ConvFinish& how,
                                       std::size_t lines = ~std::size_t{0}) const {
    const DepthwiseWeights weights(shape, w, encoding, bias, pixels());
    return compute_lines(shape, how, lines, weights.scratch_bytes(),
                         [&](const ConvPart& part) { depthwise_conv(q.data(), weights, part); });
  }
  [[nodiscard]] std::vector<float> reference(const ConvFinish& how) const {
    std::vector<float> y(shape.num_pixels() * shape.outputs);
    depthwise_conv_reference(shape, pixels(), {w, encoding, bias}, how,
                             MatrixView<float>(y, shape.num_pixels(), shape.outputs));
    return y;
  }
};

TEST_P(DepthwiseConv, EqualsItsReferenceForEveryTailAndGeometry) {
  Random random(1);
  for (std::size_t channels = 1; channels <= 35; ++channels) {
    const DepthwiseProblem problem(random, square_shape(5, channels, channels, 3, 1, channels), 3);
    ASSERT_EQ(problem.run(problem.finish()), problem.reference(problem.finish())) << channels;
    ASSERT_EQ(problem.run({}), problem.reference({})) << channels;
  }
  for (const ConvShape& any : shapes_to_test(1, 1)) {
    for (const std::size_t channels : {3U, 16U, 21U}) {
      const DepthwiseProblem problem(random, depthwise(any.axes, channels, 2), 2);
      ASSERT_EQ(problem.run(problem.finish()), problem.reference(problem.finish()))
          << to_string(problem.shape);
    }
  }
  const ConvAxis five = make_axis(9, 5, 2, {2, 2});
  const DepthwiseProblem wide(random, depthwise({ConvAxis{}, five, five}, 18), 4);
  EXPECT_EQ(wide.run(wide.finish()), wide.reference(wide.finish()));
}

TEST_P(DepthwiseConv, ExtremesDoNotOverflow) {
  Random random(2);
  const ConvAxis taps = make_axis(16, 16);
  DepthwiseProblem problem(random, depthwise({ConvAxis{}, make_axis(32, 32), taps}, 5), 1);
  std::ranges::fill(problem.q, std::int8_t{-128});
  for (auto& word : problem.w.planes.words()) word = ~std::uint64_t{0};
  problem.w.planes.clear_tails();
  ASSERT_EQ(problem.shape.taps(), DepthwiseWeights::kMaxTaps);
  EXPECT_EQ(problem.run({}), problem.reference({}));
  for (auto& word : problem.w.planes.words()) word = 0;
  EXPECT_EQ(problem.run({}), problem.reference({}));
}

TEST_P(DepthwiseConv, RangesOfLinesGiveTheSameBits) {
  Random random(3);
  const DepthwiseProblem problem(random, square_shape(9, 20, 20, 3, 1, 20), 2);
  const auto whole = problem.run(problem.finish());
  for (const std::size_t lines : {1U, 2U, 4U}) {
    EXPECT_EQ(problem.run(problem.finish(), lines), whole);
  }
}

// A weight is off by at most 1/65534 of the largest of its channel, and by 2^-24 of itself because
// its scale is rounded. In float32, the base, the product and two sums are rounded.
TEST(DepthwiseReference, EqualsTheConvolutionOfDecodedValues) {
  Random random(4);
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    for (const auto granularity :
         {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
      const DepthwiseProblem problem(random, square_shape(6, 7, 7, 3, 2, 7), bits, granularity);
      std::vector<float> x;
      for (const std::int8_t v : problem.q) {
        x.push_back(static_cast<float>(v) * problem.scale + problem.offset);
      }
      const auto w = numerics::decode(problem.w, problem.encoding);
      const PlainConv plain = plain_conv(problem.shape, x, w, problem.bias);
      const auto y = problem.reference({});
      const double max_x = 128.0 * 0.25 + 0.75;
      for (std::size_t i = 0; i < y.size(); ++i) {
        double largest = 0;
        for (std::size_t t = 0; t < 9; ++t) {
          largest = std::max(largest, std::abs(static_cast<double>(w[i % 7 * 9 + t])));
        }
        const double off = 9 * max_x * largest * (1.0 / 65534 + 0x1p-23);
        const double rounded = 8 * 0x1p-24 * (9 * max_x * largest + 4);
        ASSERT_NEAR(y[i], plain.y[i], off + rounded) << bits << " bits, output " << i;
      }
    }
  }
}

TEST(DepthwiseReference, ChannelsOfZeroWeightsGiveTheBias) {
  Random random(5);
  DepthwiseProblem problem(random, square_shape(4, 3, 3, 3, 1, 3), 2);
  for (std::size_t i = 0; i < problem.encoding.num_blocks(); ++i) {
    problem.encoding.set_levels(i, numerics::symmetric_basis(2, 0));
  }
  const auto y = problem.reference({});
  for (std::size_t i = 0; i < y.size(); ++i) EXPECT_EQ(y[i], problem.bias[i % 3]);
}

TEST(DepthwiseWeights, RejectUnsupportedWeights) {
  Random random(6);
  const auto pack = [&](const ConvShape& shape, std::size_t rows, std::size_t cols) {
    const auto codes = numerics::random_planes(random, rows, cols, 2);
    const auto encoding =
        numerics::random_encoding(random, rows, cols, 2, true, Granularity::kChannel);
    const DepthwiseWeights weights(shape, codes, encoding, {}, Int8Pixels{});
  };
  expect_error(ErrorKind::kShape, "as many groups and outputs as 6 channels, found 3 and 6",
               [&] { pack(square_shape(4, 6, 6, 3, 1, 3), 6, 18); });
  expect_error(ErrorKind::kShape, "expected 6 x 9, found 6 x 8",
               [&] { pack(square_shape(4, 6, 6, 3, 1, 6), 6, 8); });
  const ConvAxis taps = make_axis(27, 27);
  expect_error(ErrorKind::kUnsupported, "expected at most 512 inputs", [&] {
    pack(depthwise({ConvAxis{}, taps, taps}, 2), 2, 729);
  });
}

HALFTONE_INSTANTIATE_PER_TARGET(DepthwiseConv);

}  // namespace
}  // namespace halftone::kernels
