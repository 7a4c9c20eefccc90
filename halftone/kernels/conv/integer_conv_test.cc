// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "halftone/base/buffer.h"
#include "halftone/base/random.h"
#include "halftone/kernels/conv/byte_conv.h"
#include "halftone/kernels/conv/conv_testing.h"
#include "halftone/kernels/conv/depthwise_conv.h"
#include "halftone/kernels/per_target.h"

namespace halftone::kernels {
namespace {

using IntegerConv = PerTarget;

/// Pixels and weights over the whole range of their types.
struct IntegerProblem {
  ConvShape shape;
  std::int32_t x_zero;
  bool is_signed;
  std::vector<std::int8_t> q;
  std::vector<std::byte> codes;
  std::vector<std::int32_t> zeros;
  std::vector<std::int32_t> bias;

  IntegerProblem(Random& random, const ConvShape& s, bool are_signed)
      : shape(s),
        x_zero(static_cast<std::int32_t>(random.next() % 256) - 128),
        is_signed(are_signed),
        q(s.images * s.image_input_pixels() * s.channels),
        codes(s.outputs * s.inputs()) {
    for (auto& v : q) v = static_cast<std::int8_t>(random.next());
    for (auto& w : codes) w = static_cast<std::byte>(random.next());
    for (std::size_t o = 0; o < s.outputs; ++o) {
      zeros.push_back(weights().lowest() + static_cast<std::int32_t>(random.next() % 256));
      bias.push_back(static_cast<std::int32_t>(random.next()));
    }
  }

  [[nodiscard]] IntegerWeights weights() const { return {codes, is_signed, zeros, bias}; }

  /// The outputs of compute(part), called with `count` lines at a time.
  template <typename Weights, typename Compute>
  [[nodiscard]] std::vector<std::int32_t> run(const Weights& packed, std::size_t count,
                                              const Compute& compute) const {
    AlignedBuffer scratch(packed.scratch_bytes());
    std::vector<std::int32_t> y(shape.num_pixels() * shape.outputs, -77);
    const MatrixView<std::int32_t> all(y, shape.num_pixels(), shape.outputs);
    for (std::size_t first = 0; first < shape.num_lines();) {
      const LineRange lines{first, first + std::min(count, shape.num_lines() - first)};
      const std::size_t pixels = shape.line_pixels();
      compute(q.data(), packed,
              IntegerConvPart{lines, scratch.bytes(),
                              all.rows_from(first * pixels, lines.count() * pixels)});
      first = lines.end;
    }
    return y;
  }
  [[nodiscard]] std::vector<std::int32_t> run(ByteLayout layout, std::size_t count = 1000) const {
    return run(IntegerConvWeights(shape, weights(), x_zero, layout), count, integer_conv);
  }
  [[nodiscard]] std::vector<std::int32_t> run_depthwise(std::size_t count = 1000) const {
    return run(IntegerDepthwiseWeights(shape, weights(), x_zero), count, integer_depthwise_conv);
  }
  [[nodiscard]] std::vector<std::int32_t> expected() const {
    std::vector<std::int32_t> y(shape.num_pixels() * shape.outputs);
    integer_conv_reference(shape, q.data(), x_zero, weights(),
                           MatrixView<std::int32_t>(y, shape.num_pixels(), shape.outputs));
    return y;
  }
};

void expect_exact(const IntegerProblem& problem) {
  const auto expected = problem.expected();
  ASSERT_EQ(problem.run(preferred_integer_layout()), expected) << to_string(problem.shape);
  ASSERT_EQ(problem.run(ByteLayout::kShorts), expected) << to_string(problem.shape);
  ASSERT_EQ(problem.run(ByteLayout::kShorts, 2), expected) << to_string(problem.shape);
}

TEST_P(IntegerConv, MatchesReference) {
  Random random(60);
  for (const ConvShape& shape : shapes_to_test(5, 3)) {
    expect_exact({random, shape, true});
    expect_exact({random, shape, false});
  }
  for (const std::size_t channels : {1U, 3U, 4U, 8U, 17U, 24U}) {
    for (const std::size_t outputs : {1U, 8U, 15U, 16U, 17U, 70U}) {
      expect_exact({random, square_shape(5, channels, outputs, 3), true});
      expect_exact({random, square_shape(5, channels, outputs, 1), false});
    }
  }
  expect_exact({random, square_shape(43, 8, 40, 3), true});
}

// Four neighbouring taps of one channel are a piece.
TEST_P(IntegerConv, MatchesReferenceForOneChannelAndRowsOfTaps) {
  Random random(44);
  for (const std::size_t kernel : {2U, 3U, 4U, 5U, 9U}) {
    for (const std::size_t stride : {1U, 2U, 3U}) {
      for (const std::size_t width : {9U, 40U, 300U}) {
        ConvShape shape;
        shape.outputs = 18;
        shape.axes[1] = {5, 5, 3, 1, 1, 1};
        const std::size_t pad = kernel / 2;
        shape.axes[2] = {width, (width + 2 * pad - kernel) / stride + 1, kernel, stride, 1, pad};
        expect_exact({random, shape, true});
        shape.channels = shape.groups = 3;  // six outputs for each of three channels
        expect_exact({random, shape, false});
      }
    }
  }
}

TEST_P(IntegerConv, MatchesReferenceForSinglePixels) {
  Random random(61);
  for (const std::size_t channels : {1U, 2U, 31U, 64U, 640U}) {
    for (const std::size_t outputs : {1U, 16U, 33U, 64U, 65U, 150U}) {
      expect_exact({random, square_shape(1, channels, outputs, 1), true});
    }
  }
}

TEST_P(IntegerConv, MatchesReferenceForEachChannelAlone) {
  Random random(62);
  for (const ConvShape& shape : shapes_to_test(1, 1)) {
    if (shape.groups == 1) continue;
    for (const bool is_signed : {true, false}) {
      const IntegerProblem problem(random, shape, is_signed);
      EXPECT_EQ(problem.run_depthwise(), problem.expected()) << to_string(shape);
      EXPECT_EQ(problem.run_depthwise(2), problem.expected()) << to_string(shape);
    }
  }
  for (const std::size_t channels : {2U, 16U, 20U, 33U}) {
    for (const std::size_t kernel : {1U, 3U, 5U}) {
      const ConvShape shape = square_shape(7, channels, channels, kernel, 1, channels);
      const IntegerProblem problem(random, shape, true);
      EXPECT_EQ(problem.run_depthwise(), problem.expected()) << to_string(shape);
    }
  }
}

TEST_P(IntegerConv, AddsTheLargestProductsModulo32Bits) {
  Random random(63);
  for (const auto& [pixel, code] : {std::pair(-128, 128), {127, 128}, {-128, 127}, {127, 127}}) {
    IntegerProblem problem(random, square_shape(1, 70000, 17, 1), true);
    std::ranges::fill(problem.q, static_cast<std::int8_t>(pixel));
    std::ranges::fill(problem.codes, static_cast<std::byte>(code));
    expect_exact(problem);
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(IntegerConv);

}  // namespace
}  // namespace halftone::kernels
