// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/layer_statistics.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "halftone/base/random.h"

namespace halftone::compress {
namespace {

MatrixView<const float> rows_in(const std::vector<float>& numbers, std::size_t cols) {
  return {numbers, numbers.size() / cols, cols};
}

TEST(LayerStatistics, GivesMomentsWithAndWithoutTheMean) {
  const std::vector<float> actual = {1, 2, 3, 6};
  const std::vector<float> original = {1, 1, 3, 5};
  LayerStatistics::Builder builder(2);
  builder.add(rows_in(actual, 2), rows_in(original, 2));
  const LayerStatistics statistics = builder.finish();
  EXPECT_EQ(statistics.count(), 2u);
  EXPECT_EQ(statistics.hessian(false)(0, 1), (1.0 * 2 + 3 * 6) / 2);
  EXPECT_EQ(statistics.hessian(true)(0, 1), 10.0 - 2 * 4);
  EXPECT_EQ(statistics.cross(false)(1, 0), (2.0 * 1 + 6 * 3) / 2);
  EXPECT_EQ(statistics.cross(true)(1, 0), 10.0 - 4 * 2);
}

constexpr std::size_t kMomentCols = 5;
constexpr std::size_t kMomentRows = 3 * LayerStatistics::Builder::kRunRows / 2;

/// Values of unit spread around `mean`.
std::vector<float> noise(std::uint64_t seed, double mean) {
  Random random(seed);
  std::vector<float> numbers(kMomentRows * kMomentCols);
  for (float& x : numbers) x = static_cast<float>(mean + random.normal());
  return numbers;
}

/// Covariance [i, j] of two inputs in float64.
double covariance(const std::vector<float>& a, std::size_t i, const std::vector<float>& b,
                  std::size_t j) {
  double a_mean = 0;
  double b_mean = 0;
  for (std::size_t r = 0; r < kMomentRows; ++r) {
    a_mean += double{a[r * kMomentCols + i]} / kMomentRows;
    b_mean += double{b[r * kMomentCols + j]} / kMomentRows;
  }
  double sum = 0;
  for (std::size_t r = 0; r < kMomentRows; ++r) {
    sum += (double{a[r * kMomentCols + i]} - a_mean) * (double{b[r * kMomentCols + j]} - b_mean);
  }
  return sum / kMomentRows;
}

/// Without a centre, float32 would lose a variance of 1 beside squares of 2^24.
TEST(LayerStatistics, AreExactFarFromZero) {
  const std::vector<float> actual = noise(1, 4096);
  const std::vector<float> original = noise(2, -2000);
  LayerStatistics::Builder builder(kMomentCols);
  builder.add(rows_in(actual, kMomentCols), rows_in(original, kMomentCols));
  const LayerStatistics statistics = builder.finish();
  // Each addition rounds a sum of up to a run of terms |x y|, whose mean is 2 / pi, below 1.
  const double tolerance = LayerStatistics::Builder::kRunRows * std::ldexp(1.0, -24);
  for (std::size_t i = 0; i < kMomentCols; ++i) {
    for (std::size_t j = 0; j < kMomentCols; ++j) {
      const auto r = static_cast<Eigen::Index>(i);
      const auto c = static_cast<Eigen::Index>(j);
      EXPECT_NEAR(statistics.hessian(true)(r, c), covariance(actual, i, actual, j), tolerance);
      EXPECT_NEAR(statistics.cross(true)(r, c), covariance(actual, i, original, j), tolerance);
    }
  }
}

/// Squares of such numbers are beyond float32.
TEST(LayerStatistics, KeepTheRangeOfFloat64) {
  for (const double size : {1e-30, 1e30}) {
    std::vector<float> actual = noise(5, 0);
    for (float& x : actual) x *= static_cast<float>(size);
    LayerStatistics::Builder builder(kMomentCols);
    builder.add(rows_in(actual, kMomentCols), rows_in(actual, kMomentCols));
    const double variance = builder.finish().hessian(true)(1, 1);
    const double expected = covariance(actual, 1, actual, 1);
    EXPECT_NEAR(variance / expected, 1, LayerStatistics::Builder::kRunRows * std::ldexp(1.0, -24));
  }
}

TEST(LayerStatistics, DoNotDependOnHowRowsAreDividedAmongCalls) {
  const std::vector<float> actual = noise(3, 1);
  const std::vector<float> original = noise(4, 0);
  LayerStatistics::Builder whole(kMomentCols);
  whole.add(rows_in(actual, kMomentCols), rows_in(original, kMomentCols));
  LayerStatistics::Builder parts(kMomentCols);
  for (std::size_t first = 0; first < kMomentRows; first += 100) {
    const std::size_t count = std::min<std::size_t>(100, kMomentRows - first);
    parts.add(rows_in(actual, kMomentCols).rows_from(first, count),
              rows_in(original, kMomentCols).rows_from(first, count));
  }
  const LayerStatistics one = whole.finish();
  const LayerStatistics other = parts.finish();
  EXPECT_EQ(one.hessian(true), other.hessian(true));
  EXPECT_EQ(one.cross(false), other.cross(false));
  EXPECT_EQ(one.actual_mean(), other.actual_mean());
}

}  // namespace
}  // namespace halftone::compress
