// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/conv/int8_conv.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/conv_strip.h"
#include "halftone/kernels/conv/conv_testing.h"
#include "halftone/kernels/int8_matmul/int8_weights.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Int8Conv = PerTarget;
using numerics::Granularity;

/// Pixels with an offset and weights with evenly spaced levels, which both products represent
/// exactly.
struct Int8ConvProblem {
  ConvShape shape;
  std::vector<std::int8_t> q;
  numerics::BitPlanes w;
  numerics::MatrixEncoding encoding;
  std::vector<float> bias;
  std::vector<float> residual;
  float offset = 0.7F;
  float scale = 0.25F;

  Int8ConvProblem(Random& random, const ConvShape& s, int bits, Granularity granularity,
                  std::size_t group)
      : shape(s),
        q(s.images * s.image_input_pixels() * s.channels),
        w(numerics::random_planes(random, s.outputs, s.inputs(), bits)),
        bias(numerics::random_floats(random, s.outputs)),
        residual(numerics::random_floats(random, s.num_pixels() * s.outputs)) {
    for (auto& v : q) v = static_cast<std::int8_t>(static_cast<int>(random.next() % 256) - 128);
    encoding.bits = bits;
    encoding.has_offset = true;
    encoding.granularity = granularity;
    encoding.group_size = group;
    encoding.allocate(s.outputs, s.inputs());
    for (std::size_t i = 0; i < encoding.num_blocks(); ++i) {
      const auto size = static_cast<float>(0.5 + random.uniform());
      encoding.set_levels(
          i, numerics::affine_basis(bits, size, static_cast<float>(4 * random.uniform())));
    }
  }

  [[nodiscard]] Int8Pixels pixels() const { return {q.data(), scale, offset}; }
  /// Whether groups of inputs are whole fours of the channels of a tap.
  [[nodiscard]] bool has_whole_groups() const {
    return encoding.groups_per_row(shape.inputs()) == 1 ||
           (encoding.group_size % 4 == 0 && shape.group_channels() % 4 == 0);
  }
  /// The layouts in which byte_conv() computes the weights exactly on the current target.
  [[nodiscard]] std::vector<ByteLayout> byte_layouts() const {
    if (!has_whole_groups()) return {};
    if (preferred_byte_layout(encoding) == ByteLayout::kShorts) return {ByteLayout::kShorts};
    std::vector<ByteLayout> layouts{ByteLayout::kBytes, ByteLayout::kShorts};
    if (common_factor(encoding) > 1) layouts.push_back(ByteLayout::kSmall);
    return layouts;
  }

  [[nodiscard]] std::vector<float> run(std::size_t lines = ~std::size_t{0}) const {
    const Int8ConvWeights weights(shape, {w, encoding, bias}, preferred_byte_levels(), offset);
    return run(weights, lines, [&](const ConvPart& part) { int8_conv(pixels(), weights, part); });
  }
  [[nodiscard]] std::vector<float> run_bytes(ByteLayout layout,
                                             std::size_t lines = ~std::size_t{0}) const {
    const ByteConvWeights weights(shape, {w, encoding, bias}, pixels(), layout);
    return run(weights, lines, [&](const ConvPart& part) { byte_conv(q.data(), weights, part); });
  }

 private:
  template <typename Weights, typename Compute>
  [[nodiscard]] std::vector<float> run(const Weights& weights, std::size_t lines,
                                       const Compute& compute) const {
    ConvFinish finish;
    finish.residual = MatrixView<const float>(residual, shape.num_pixels(), shape.outputs);
    return compute_lines(shape, finish, lines, weights.scratch_bytes(), compute);
  }
};

// The rounded values are bounded by the sum of the absolute values of all terms, where outside taps
// count as the offset. They are rounded a few times per group of inputs; the levels of the weights
// are off by a few units.
void expect_convolution(Random& random, const ConvShape& shape, int bits, Granularity granularity,
                        std::size_t group) {
  const Int8ConvProblem problem(random, shape, bits, granularity, group);
  std::vector<float> x;
  for (const std::int8_t v : problem.q) {
    x.push_back(static_cast<float>(v) * problem.scale + problem.offset);
  }
  const auto w = numerics::decode(problem.w, problem.encoding);
  const PlainConv plain = plain_conv(shape, x, w, problem.bias);
  double largest = 0;
  for (const float v : w) largest = std::max(largest, std::abs(static_cast<double>(v)));
  const double size = 128.0 * 2 * largest * static_cast<double>(shape.inputs()) + 10;
  std::vector<std::vector<float>> results = {problem.run()};
  for (const ByteLayout layout : problem.byte_layouts()) {
    results.push_back(problem.run_bytes(layout));
    ASSERT_EQ(results.back(), results[1]) << "layouts differ: " << to_string(shape);
  }
  for (const auto& y : results) {
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_NEAR(y[i], plain.y[i] + static_cast<double>(problem.residual[i]), 32 * size * 0x1p-24)
          << to_string(shape) << ", bits " << bits << ", output " << i;
    }
  }
}

TEST_P(Int8Conv, EqualsTheConvolutionOfDecodedValues) {
  Random random(30);
  for (const ConvShape& shape : shapes_to_test(5, 3)) {
    expect_convolution(random, shape, 3, Granularity::kChannel, 0);
  }
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    for (const auto granularity :
         {Granularity::kTensor, Granularity::kChannel, Granularity::kGroup}) {
      expect_convolution(random, square_shape(6, 20, 33, 3), bits, granularity,
                         granularity == Granularity::kGroup ? 40 : 0);
    }
  }
  for (const int bits : {3, 8}) {
    for (const std::size_t group : {4U, 12U, 16U, 40U, 64U, 128U}) {
      for (const std::size_t channels : {4U, 16U, 24U, 64U}) {
        const ConvShape shape = square_shape(5, channels, 33, 3);
        expect_convolution(random, shape, bits, Granularity::kGroup, group);
      }
      for (const ConvShape& shape : shapes_to_test(8, 3)) {
        expect_convolution(random, shape, bits, Granularity::kGroup, group);
      }
    }
  }
  // Groups that end within four channels, and some with all inputs of an output.
  expect_convolution(random, square_shape(6, 8, 6, 3, 2, 2), 4, Granularity::kGroup, 16);
  expect_convolution(random, square_shape(6, 8, 6, 3), 4, Granularity::kGroup, 18);
  expect_convolution(random, square_shape(6, 3, 20, 3), 4, Granularity::kGroup, 16);
  expect_convolution(random, square_shape(6, 3, 20, 3), 4, Granularity::kGroup, 64);
  expect_convolution(random, square_shape(6, 1, 20, 3), 4, Granularity::kGroup, 9);
  for (const std::size_t channels : {1U, 3U, 4U, 5U, 17U}) {
    for (const std::size_t outputs : {1U, 8U, 15U, 16U, 17U, 33U}) {
      for (const int bits : {2, 7}) {
        const ConvShape shape = square_shape(5, channels, outputs, 3);
        expect_convolution(random, shape, bits, Granularity::kChannel, 0);
      }
    }
  }
  expect_convolution(random, square_shape(43, 8, 3, 3), 4, Granularity::kChannel, 0);
  expect_convolution(random, square_shape(21, 8, 48, 3), 4, Granularity::kChannel, 0);
  expect_convolution(random, square_shape(21, 8, 48, 3), 8, Granularity::kChannel, 0);
}

TEST_P(Int8Conv, RangesOfLinesGiveTheSameBits) {
  Random random(31);
  for (const auto granularity : {Granularity::kChannel, Granularity::kGroup}) {
    const Int8ConvProblem problem(random, square_shape(9, 20, 33, 3), 2, granularity,
                                  granularity == Granularity::kGroup ? 16 : 0);
    const auto gathered = problem.run();
    const auto whole = problem.run_bytes(ByteLayout::kBytes);
    for (const std::size_t lines : {1U, 2U, 4U}) {
      EXPECT_EQ(problem.run(lines), gathered);
      EXPECT_EQ(problem.run_bytes(ByteLayout::kBytes, lines), whole);
      EXPECT_EQ(problem.run_bytes(ByteLayout::kShorts, lines), whole);
    }
  }
}

TEST_P(Int8Conv, AddsTheLargestProductsExactly) {
  Random random(35);
  for (const int bits : {1, 2, 3, 4, 5, 8}) {
    for (const auto& [pixel, ones] : {std::pair(-128, true), {127, true}, {-128, false}}) {
      const auto granularity = pixel == 127 ? Granularity::kGroup : Granularity::kChannel;
      Int8ConvProblem problem(random, square_shape(6, 64, 18, 3), bits, granularity,
                              pixel == 127 ? 288 : 0);
      std::ranges::fill(problem.q, static_cast<std::int8_t>(pixel));
      for (std::size_t row = 0; row < problem.w.planes.rows(); ++row) {
        std::ranges::fill(problem.w.planes.row(row), ones ? ~std::uint64_t{0} : 0);
      }
      for (const ByteLayout layout : problem.byte_layouts()) {
        EXPECT_EQ(problem.run_bytes(layout), problem.run_bytes(ByteLayout::kShorts));
      }
      EXPECT_EQ(problem.byte_layouts().back() == ByteLayout::kSmall, bits <= 4);
    }
  }
}

TEST(ByteConvWeights, RejectUnsupportedWeights) {
  Random random(34);
  const ConvShape shape = square_shape(4, 6, 5, 3);
  const auto uneven = numerics::random_encoding(random, 5, 54, 4, true, Granularity::kChannel, 0);
  expect_error(ErrorKind::kUnsupported, "expected evenly spaced levels", [&] {
    const auto codes = numerics::random_planes(random, 5, 54, 4);
    const ByteConvWeights weights(shape, {codes, uneven}, Int8Pixels{}, ByteLayout::kSmall);
  });
  const auto pack = [&](const ConvShape& s, int bits, Granularity granularity) {
    const auto codes = numerics::random_planes(random, 5, 54, bits);
    const auto encoding = numerics::random_encoding(random, 5, 54, bits, true, granularity,
                                                    granularity == Granularity::kGroup ? 9 : 0);
    const ByteConvWeights weights(s, {codes, encoding}, Int8Pixels{}, ByteLayout::kBytes);
  };
  expect_error(ErrorKind::kUnsupported,
               "whole fours of the channels of a tap, found 9 inputs and 6",
               [&] { pack(shape, 2, Granularity::kGroup); });
  expect_error(ErrorKind::kShape, "expected 5 x 63, found 5 x 54",
               [&] { pack(square_shape(4, 7, 5, 3), 2, Granularity::kTensor); });
}

TEST(GatherWindows, GathersTheInputsOfEachTap) {
  Random random(32);
  for (const ConvShape& shape : shapes_to_test(18, 1)) {
    std::vector<std::int8_t> x(shape.images * shape.image_input_pixels() * shape.channels);
    for (auto& v : x) v = static_cast<std::int8_t>(random.next());
    const std::vector<float> values(x.begin(), x.end());
    std::vector<float> one_tap(shape.outputs * shape.inputs());
    const std::size_t pixels = shape.line_pixels();
    std::vector<std::int8_t> rows(pixels * shape.inputs());
    const std::size_t line = shape.num_lines() / 2;
    for (std::size_t g = 0; g < shape.groups; ++g) {
      gather_windows(shape, x.data(), g, {line, 0, pixels},
                     MatrixView<std::int8_t>(rows, pixels, shape.inputs()));
      for (std::size_t i = 0; i < shape.inputs(); i += 5) {
        std::fill(one_tap.begin(), one_tap.end(), 0.0F);
        one_tap[g * shape.inputs() + i] = 1;
        const PlainConv plain = plain_conv(shape, values, one_tap, {});
        for (std::size_t p = 0; p < pixels; ++p) {
          ASSERT_EQ(rows[p * shape.inputs() + i], plain.y[(line * pixels + p) * shape.outputs + g])
              << to_string(shape);
        }
      }
    }
  }
}

TEST(Int8ConvWeights, RejectUnsupportedWeights) {
  Random random(33);
  const auto codes = numerics::random_planes(random, 5, 54, 2);
  const auto encoding = numerics::random_encoding(random, 5, 54, 2, true, Granularity::kChannel);
  const auto pack = [&](const ConvShape& shape) {
    const Int8ConvWeights weights(shape, {codes, encoding}, LevelLayout::kBytes, 0);
  };
  expect_error(ErrorKind::kShape, "expected 5 x 63, found 5 x 54",
               [&] { pack(square_shape(4, 7, 5, 3)); });
  expect_error(ErrorKind::kShape, "2 groups do not divide 6 channels and 5 outputs",
               [&] { pack(square_shape(4, 6, 5, 3, 1, 2)); });
}

HALFTONE_INSTANTIATE_PER_TARGET(Int8Conv);

}  // namespace
}  // namespace halftone::kernels
