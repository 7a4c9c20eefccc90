// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <bit>
#include <limits>

#include "halftone/kernels/conv/conv_testing.h"
#include "halftone/kernels/conv/float_conv.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using FloatPooling = PerTarget;

/// Expects the bits of the reference implementation, `step` lines at a time.
void expect_pool_matches(ConvShape shape, std::vector<float> x,
                         std::size_t step = ~std::size_t{0}) {
  shape.outputs = shape.groups = shape.channels;
  for (const FloatPool& pool : {FloatPool{shape, true, false}, FloatPool{shape, false, false},
                                FloatPool{shape, false, true}}) {
    const auto y = compute_lines(shape, {}, step, 0, [&](const ConvPart& part) {
      float_pool(x.data(), pool, part.lines, part.y);
    });
    std::vector<float> expected(y.size());
    float_pool_reference(x.data(), pool,
                         MatrixView<float>(expected, shape.num_pixels(), shape.outputs));
    for (std::size_t i = 0; i < y.size(); ++i) {
      ASSERT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(expected[i]))
          << to_string(shape) << ", is_max " << pool.is_max << ", at " << i;
    }
  }
}

std::vector<float> pool_input(const ConvShape& shape, Random& random) {
  return numerics::random_floats(random,
                                 shape.images * shape.image_input_pixels() * shape.channels);
}

TEST_P(FloatPooling, MatchesReferenceForEveryShape) {
  Random random(90);
  for (const ConvShape& shape : shapes_to_test(19, 19)) {
    for (const std::size_t lines : {std::size_t{1}, ~std::size_t{0}}) {
      expect_pool_matches(shape, pool_input(shape, random), lines);
    }
  }
}

TEST_P(FloatPooling, MatchesReferenceForEveryNumberOfChannels) {
  Random random(91);
  for (std::size_t channels = 1; channels <= 70; ++channels) {
    const ConvShape shape = square_shape(5, channels, channels, 3);
    expect_pool_matches(shape, pool_input(shape, random));
  }
}

TEST_P(FloatPooling, OrdersZerosAndKeepsNanInMaximaLikeItsReference) {
  constexpr float kNotANumber = std::numeric_limits<float>::quiet_NaN();
  const ConvShape shape = square_shape(4, 9, 9, 3);
  std::vector<float> x(shape.image_input_pixels() * shape.channels);
  for (std::size_t i = 0; i < x.size(); ++i) {
    x[i] = i % 7 == 0 ? 0.0F : i % 3 == 0 ? -0.0F : i % 5 == 0 ? kNotANumber : -0.0F;
  }
  ConvShape pooled = shape;
  pooled.outputs = pooled.groups = pooled.channels;
  const FloatPool pool{pooled, true, false};
  std::vector<float> y(x.size());
  std::vector<float> expected(x.size());
  float_pool(x.data(), pool, {0, 4}, MatrixView<float>(y, 16, 9));
  float_pool_reference(x.data(), pool, MatrixView<float>(expected, 16, 9));
  for (std::size_t i = 0; i < y.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(expected[i])) << i;
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(FloatPooling);

}  // namespace
}  // namespace halftone::kernels
