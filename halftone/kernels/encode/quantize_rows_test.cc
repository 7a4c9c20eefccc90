// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "halftone/base/testing.h"
#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using QuantizeRows = PerTarget;
using testing::Each;
using testing::ElementsAre;

struct Quantized {
  std::vector<std::int8_t> q;
  std::vector<float> scales;
};

template <typename Function>
Quantized quantize_with(Function function, const std::vector<float>& values, std::size_t rows) {
  const std::size_t cols = rows == 0 ? 0 : values.size() / rows;
  Quantized result{std::vector<std::int8_t>(values.size(), 99), std::vector<float>(rows, 99)};
  function(MatrixView<const float>(values, rows, cols),
           MatrixView<std::int8_t>(result.q, rows, cols), result.scales);
  return result;
}

TEST_P(QuantizeRows, MatchesReferenceForEveryLength) {
  Random random(20);
  for (std::size_t n = 0; n <= 70; ++n) {
    const auto values = numerics::random_floats(random, 3 * n);
    const Quantized y = quantize_with(quantize_rows, values, 3);
    const Quantized expected = quantize_with(quantize_rows_reference, values, 3);
    EXPECT_EQ(y.q, expected.q) << n;
    EXPECT_EQ(y.scales, expected.scales) << n;
  }
}

TEST_P(QuantizeRows, SupportsRowStridesAtAnyAddress) {
  Random random(22);
  const auto values = numerics::random_floats(random, 1 + 3 * 101);
  const MatrixView<const float> x(values.data() + 1, 3, 70, 101);
  Quantized y{std::vector<std::int8_t>(1 + 3 * 91, 99), std::vector<float>(3)};
  Quantized expected = y;  // the gaps must stay unchanged
  const auto rows_of = [](Quantized& codes) {
    return MatrixView<std::int8_t>(codes.q.data() + 1, 3, 70, 91);
  };
  quantize_rows(x, rows_of(y), y.scales);
  quantize_rows_reference(x, rows_of(expected), expected.scales);
  EXPECT_EQ(y.q, expected.q);
  EXPECT_EQ(y.scales, expected.scales);
}

TEST_P(QuantizeRows, RoundsToNearestTiesToEven) {
  const auto y =
      quantize_with(quantize_rows, {127, 0.5, 1.5, 2.5, -0.5, -1.5, 0.49999997F, -127}, 1);
  EXPECT_THAT(y.q, ElementsAre(127, 0, 2, 2, 0, -2, 0, -127));
  EXPECT_THAT(y.scales, ElementsAre(1));
}

TEST_P(QuantizeRows, StaysWithinHalfAStepForEveryMagnitude) {
  Random random(21);
  for (const float magnitude : {1e-36F, 1e-20F, 1.0F, 1e20F, 1e38F}) {
    std::vector<float> values = numerics::random_floats(random, 100);
    for (float& value : values) value = std::clamp(value, -3.0F, 3.0F) * magnitude;
    const auto y = quantize_with(quantize_rows, values, 1);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float decoded = static_cast<float>(y.q[i]) * y.scales[0];
      EXPECT_LE(std::abs(decoded - values[i]), 0.5001F * y.scales[0]) << values[i];
    }
  }
}

TEST_P(QuantizeRows, TinyRowsAreZeroAndInfiniteRowsAreReported) {
  for (const float tiny : {0.0F, -0.0F, 1e-40F, 1e-37F}) {
    const auto y = quantize_with(quantize_rows, std::vector<float>(20, tiny), 1);
    EXPECT_THAT(y.q, Each(0));
    EXPECT_THAT(y.scales, ElementsAre(0));
  }
  for (const float bad : {kInfinity, -kInfinity, kNan, -kNan}) {
    for (const std::size_t at : {0U, 17U, 19U}) {  // within a vector, and in the tail
      std::vector<float> values(20, 1.0F);
      values[at] = bad;
      const auto y = quantize_with(quantize_rows, values, 1);
      EXPECT_THAT(y.q, Each(0));
      EXPECT_TRUE(std::isnan(y.scales[0]));
    }
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(QuantizeRows);

}  // namespace
}  // namespace halftone::kernels
