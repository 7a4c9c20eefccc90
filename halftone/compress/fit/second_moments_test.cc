// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/second_moments.h"

#include <cmath>
#include <limits>

#include "halftone/base/parallel.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"

namespace halftone::compress {
namespace {

std::vector<float> random_rows(std::size_t rows, std::size_t cols) {
  Random random(7);
  std::vector<float> values(rows * cols);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<float>(random.normal()) * static_cast<float>(1 + i % cols);
  }
  return values;
}

/// Moments of rows that come `step` at a time.
std::vector<float> moments_in_steps(const std::vector<float>& values, std::size_t cols,
                                    std::size_t step) {
  const std::size_t rows = values.size() / cols;
  SecondMoments moments(cols);
  for (std::size_t at = 0; at < rows; at += step) {
    const std::size_t count = std::min(step, rows - at);
    moments.add(MatrixView<const float>(values.data() + at * cols, count, cols, cols));
  }
  EXPECT_EQ(moments.count() + rows % SecondMoments::kRunRows, rows);
  return moments.finish();
}

TEST(SecondMoments, AreMeansOfProducts) {
  constexpr std::size_t kManyRows = 1100;
  constexpr std::size_t kFewCols = 13;
  const std::vector<float> values = random_rows(kManyRows, kFewCols);
  const std::vector<float> moments = moments_in_steps(values, kFewCols, 100);
  for (std::size_t i = 0; i < kFewCols; ++i) {
    for (std::size_t j = 0; j < kFewCols; ++j) {
      double sum = 0;
      double magnitude = 0;
      for (std::size_t r = 0; r < kManyRows; ++r) {
        const double product = double{values[r * kFewCols + i]} * double{values[r * kFewCols + j]};
        sum += product;
        magnitude += std::abs(product);
      }
      // Each term takes part in at most kRunRows + 2 sums of a run and of runs, a product, and the
      // division.
      const double roundings = SecondMoments::kRunRows + 6;
      const double tolerance =
          roundings * std::numeric_limits<float>::epsilon() / 2 * magnitude / kManyRows;
      EXPECT_NEAR(moments[i * kFewCols + j], sum / kManyRows, tolerance) << i << ", " << j;
      EXPECT_EQ(moments[i * kFewCols + j], moments[j * kFewCols + i]);
    }
  }
}

TEST(SecondMoments, HaveTheSameBitsHoweverRowsAreDivided) {
  const std::vector<float> values = random_rows(1300, 200);
  const std::vector<float> expected = moments_in_steps(values, 200, 1300);
  EXPECT_EQ(moments_in_steps(values, 200, 1), expected);
  EXPECT_EQ(moments_in_steps(values, 200, 511), expected);
  const ThreadLimit limit(1);
  EXPECT_EQ(moments_in_steps(values, 200, 77), expected);
}

TEST(SecondMoments, AreZeroWithoutRows) {
  EXPECT_EQ(SecondMoments(2).finish(), std::vector<float>(4, 0.0F));
}

TEST(SecondMoments, RejectNumbersThatAreNotFinite) {
  SecondMoments moments(2);
  const std::vector<float> row = {1.0F, std::numeric_limits<float>::infinity()};
  moments.add(MatrixView<const float>(row.data(), 1, 2, 2));
  expect_error(ErrorKind::kFormat, "inputs 0 and 1", [&] { (void)moments.finish(); });
}

}  // namespace
}  // namespace halftone::compress
