// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/bit_conv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>

#include "halftone/base/testing.h"
#include "halftone/kernels/conv/conv_testing.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using BitConv = PerTarget;
using numerics::Granularity;

struct BitConvCase {
  ConvShape shape;
  int x_bits = 1;
  int w_bits = 1;
  bool x_offset = true;
  bool w_offset = true;
  bool bias = true;
  bool residual = false;
  Granularity granularity = Granularity::kChannel;
  std::vector<float> x_coefficients{};  ///< random if empty
};

/// The inputs of a convolution.
struct BitConvProblem {
  ConvShape shape;
  numerics::BitPlanes x;
  numerics::Basis x_basis;
  numerics::BitPlanes w;
  numerics::MatrixEncoding encoding;
  std::vector<float> bias;
  std::vector<float> residual;
  ConvFinish finish;

  BitConvProblem(Random& random, const BitConvCase& c)
      : shape(c.shape),
        x(numerics::random_planes(random, shape.images * shape.image_input_pixels(), shape.channels,
                                  c.x_bits)),
        x_basis(c.x_coefficients.empty()
                    ? numerics::random_basis(random, c.x_bits, c.x_offset)
                    : numerics::make_basis(c.x_coefficients, c.x_offset ? 0.4F : 0)),
        w(numerics::random_planes(random, shape.outputs, shape.inputs(), c.w_bits)),
        encoding(numerics::random_encoding(random, shape.outputs, shape.inputs(), c.w_bits,
                                           c.w_offset, c.granularity)),
        bias(numerics::random_floats(random, c.bias ? shape.outputs : 0)) {
    if (!c.residual) return;
    residual = numerics::random_floats(random, shape.num_pixels() * shape.outputs);
    finish.residual = MatrixView<const float>(residual, shape.num_pixels(), shape.outputs);
    finish.low = 0;
    finish.high = 6;
  }

  [[nodiscard]] std::vector<float> reference() const {
    std::vector<float> y(shape.num_pixels() * shape.outputs);
    bit_conv_reference(shape, {x, x_basis}, {w, encoding, bias}, finish,
                       MatrixView<float>(y, shape.num_pixels(), shape.outputs));
    return y;
  }

  /// Computes ranges of `lines` lines.
  [[nodiscard]] std::vector<float> run(std::size_t lines = ~std::size_t{0},
                                       std::optional<BitConvLayout> layout = std::nullopt) const {
    const BitConvWeights weights(shape, {w, encoding, bias}, x_basis,
                                 layout.value_or(preferred_bit_conv_layout(shape, w.bits)));
    return compute_lines(shape, finish, lines, weights.scratch_bytes(),
                         [&](const ConvPart& part) { bit_conv(x.planes.words(), weights, part); });
  }
};

constexpr std::array kBitConvLayouts = {BitConvLayout::kTables, BitConvLayout::kSixes,
                                        BitConvLayout::kFours};

void expect_bit_conv_matches(Random& random, const BitConvCase& c) {
  const BitConvProblem problem(random, c);
  const auto expected = bit_patterns(problem.reference());
  for (const BitConvLayout layout : kBitConvLayouts) {
    EXPECT_EQ(bit_patterns(problem.run(~std::size_t{0}, layout)), expected)
        << to_string(c.shape) << ", bits " << c.x_bits << " x " << c.w_bits << ", layout "
        << static_cast<int>(layout);
  }
}

TEST_P(BitConv, MatchesReferenceForEveryGeometry) {
  Random random(20);
  for (const ConvShape& shape : shapes_to_test(5, 3))
    expect_bit_conv_matches(random, {shape, 2, 1});
  for (const ConvShape& shape : shapes_to_test(16, 17))
    expect_bit_conv_matches(random, {shape, 1, 2});
}

TEST_P(BitConv, MatchesReferenceForEveryNumberOfChannelsAndOutputs) {
  Random random(21);
  for (const std::size_t channels : {1U, 7U, 8U, 9U, 31U, 32U, 63U, 64U, 65U, 130U}) {
    expect_bit_conv_matches(random, {square_shape(3, channels, 4, 3)});
  }
  for (const std::size_t outputs : {0U, 1U, 15U, 16U, 32U, 33U, 48U, 64U, 65U, 100U, 130U}) {
    expect_bit_conv_matches(random, {square_shape(3, 10, outputs, 3), 2, 2});
  }
  // Around the numbers of pieces after which counters are widened: 63 of 8, 42 of 6, 63 of 16.
  for (const std::size_t channels :
       {8U * 62U, 8U * 63U, 8U * 64U, 192U + 54U, 192U + 60U, 16U * 63U, 16U * 64U, 8U * 130U}) {
    expect_bit_conv_matches(random, {square_shape(2, channels, 2, 1)});
  }
}

TEST_P(BitConv, MatchesReferenceWherePlanesShareADigit) {
  Random random(28);
  const std::vector<std::vector<float>> bases = {{0.5F, 1.0F},       {1.0F, 1.0F},
                                                 {1.25F, 0.5F},      {0.25F, 1.5F},
                                                 {0.5F, 1.0F, 2.0F}, {0.5F, 1.7F, 1.0F, 0.3F}};
  for (const auto& coefficients : bases) {
    const auto bits = static_cast<int>(coefficients.size());
    BitConvCase c{square_shape(7, 8 * 9, 20, 3), bits, 2};
    c.x_coefficients = coefficients;
    expect_bit_conv_matches(random, c);
    for (const std::size_t channels : {1U, 15U, 16U, 33U, 64U, 170U}) {
      c.shape = square_shape(5, channels, 17, 3);
      expect_bit_conv_matches(random, c);
    }
    for (const ConvShape& shape : shapes_to_test(5, 3)) {
      c.shape = shape;
      expect_bit_conv_matches(random, c);
    }
  }
}

TEST_P(BitConv, MatchesReferenceForEveryPairOfBits) {
  Random random(22);
  for (int x_bits = 1; x_bits <= numerics::kMaxBits; ++x_bits) {
    for (int w_bits = 1; w_bits <= numerics::kMaxBits; ++w_bits) {
      expect_bit_conv_matches(random, {square_shape(5, 9, 5, 3), x_bits, w_bits});
    }
  }
}

TEST_P(BitConv, MatchesReferenceWithAndWithoutOffsetsBiasAndResidual) {
  Random random(23);
  for (int mask = 0; mask < 16; ++mask) {
    for (const auto granularity : {Granularity::kTensor, Granularity::kChannel}) {
      expect_bit_conv_matches(random,
                              {square_shape(4, 12, 20, 3), 2, 3, (mask & 1) != 0, (mask & 2) != 0,
                               (mask & 4) != 0, (mask & 8) != 0, granularity});
    }
  }
}

TEST_P(BitConv, RangesOfLinesGiveTheSameBits) {
  Random random(24);
  ConvShape shape = square_shape(7, 24, 20, 3);
  shape.images = 3;
  const BitConvProblem problem(random, {shape, 2, 2});
  const auto whole = bit_patterns(problem.run());
  for (const BitConvLayout layout : kBitConvLayouts) {
    for (const std::size_t lines : {1U, 2U, 3U, 8U}) {
      EXPECT_EQ(bit_patterns(problem.run(lines, layout)), whole) << lines;
    }
  }
}

TEST_P(BitConv, ImagesLargerThanTheStripMatch) {
  Random random(25);
  expect_bit_conv_matches(random, {square_shape(40, 128, 3, 3), 3, 1});
}

// The base, each of the Kx Kw + 1 products and additions of the epilogue, and the products of
// coefficients are rounded once. The rounded values are bounded by the sum of all |a'_i a_j| n, |c
// a'_i| n, and the contribution of the outside taps.
TEST(BitConv, EqualsTheConvolutionOfDecodedValues) {
  Random random(26);
  for (const ConvShape& shape : shapes_to_test(11, 4)) {
    for (const int mask : {0, 1, 2, 3}) {
      const bool offsets = (mask & 1) != 0;
      BitConvCase c{shape, 3, 2, offsets, offsets};
      if ((mask & 2) != 0) c.x_coefficients = {0.75F, 1.5F, 0.4F};
      const BitConvProblem problem(random, c);
      const auto x = numerics::decode(problem.x, numerics::tensor_encoding(problem.x_basis));
      const auto w = numerics::decode(problem.w, problem.encoding);
      const PlainConv plain = plain_conv(shape, x, w, problem.bias);
      const auto y = problem.run();
      double x_size = std::abs(problem.x_basis.offset);
      for (const float a : problem.x_basis.a()) x_size += std::abs(a);
      for (std::size_t i = 0; i < y.size(); ++i) {
        const std::size_t o = i % shape.outputs;
        const numerics::Basis& basis = problem.encoding.basis(o, 0, shape.inputs());
        double w_size = std::abs(basis.offset);
        for (const float a : basis.a()) w_size += std::abs(a);
        const double size = 3 * x_size * w_size * static_cast<double>(shape.inputs()) +
                            std::abs(static_cast<double>(problem.bias[o]));
        const double roundings = 3 * 2 * 2 + 3 * 2 + 6;
        EXPECT_NEAR(y[i], plain.y[i], roundings * size * 0x1p-24) << to_string(shape) << " " << i;
      }
    }
  }
}

TEST(BitConv, RejectsUnsupportedWeights) {
  Random random(27);
  const ConvShape shape = square_shape(4, 6, 5, 3);
  const auto basis = numerics::random_basis(random, 1, false);
  const auto codes = numerics::random_planes(random, 5, 54, 2);
  const auto encoding = numerics::random_encoding(random, 5, 54, 2, true, Granularity::kChannel);
  const auto groups = numerics::random_encoding(random, 5, 54, 2, true, Granularity::kGroup, 9);
  const auto pack = [&](const ConvShape& s, const auto& c, const auto& e) {
    const BitConvWeights weights(s, {c, e}, basis, BitConvLayout::kTables);
  };
  expect_error(ErrorKind::kUnsupported, "found groups of 9", [&] { pack(shape, codes, groups); });
  ConvShape other = shape;
  other.channels = 7;
  expect_error(ErrorKind::kShape, "expected 5 x 63, found 5 x 54",
               [&] { pack(other, codes, encoding); });
  other = shape;
  other.groups = 2;
  expect_error(ErrorKind::kShape, "2 groups do not divide 6 channels and 5 outputs",
               [&] { pack(other, codes, encoding); });
  other = shape;
  other.axes[2].stride = 0;
  expect_error(ErrorKind::kShape, "strides and dilations from 1 on",
               [&] { pack(other, codes, encoding); });
  other = shape;
  other.axes[0].kernel = 0;
  expect_error(ErrorKind::kShape, "a kernel of at least one tap",
               [&] { pack(other, codes, encoding); });
}

HALFTONE_INSTANTIATE_PER_TARGET(BitConv);

}  // namespace
}  // namespace halftone::kernels
