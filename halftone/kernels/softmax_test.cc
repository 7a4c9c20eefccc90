// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/softmax.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Softmax = PerTarget;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

void expect_matches(const std::vector<float>& x, std::size_t rows) {
  const std::size_t cols = x.size() / rows;
  std::vector<float> y(x.size());
  std::vector<float> expected(x.size());
  softmax(MatrixView<const float>(x, rows, cols), MatrixView<float>(y, rows, cols));
  softmax_reference(MatrixView<const float>(x, rows, cols),
                    MatrixView<float>(expected, rows, cols));
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint32_t>(y[i]), std::bit_cast<std::uint32_t>(expected[i]))
        << cols << " columns, element " << i << ": " << y[i] << " and " << expected[i];
  }
}

TEST_P(Softmax, MatchesReferenceForEveryLength) {
  Random random(20);
  for (std::size_t cols = 0; cols <= 70; ++cols) {
    expect_matches(numerics::random_floats(random, 3 * cols), 3);
  }
}

TEST_P(Softmax, MatchesReferenceOnExtremeRows) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t cols : {1U, 5U, 16U, 19U}) {
    for (const float fill : {0.0F, 1e30F, -1e30F, -kInfinity}) {
      for (const float one : {0.0F, 3.0e38F, kInfinity, -kInfinity, nan}) {
        std::vector<float> row(cols, fill);
        row[cols / 2] = one;
        expect_matches(row, 1);
      }
    }
  }
}

TEST_P(Softmax, ApproximatesTheExactQuotient) {
  Random random(21);
  const std::size_t n = 1000;
  std::vector<float> x = numerics::random_floats(random, n);
  for (float& value : x) value *= 5;
  std::vector<float> y(n);
  softmax(MatrixView<const float>(x, 1, n), MatrixView<float>(y, 1, n));
  double sum = 0;
  for (const float value : x) sum += std::exp(double{value});
  // Relative: the rounded difference from the maximum (below 64, so 2^-19), 2 ulps of the
  // exponential, 63 + 4 additions, one division.
  const double bound = 0x1p-19 + (4 + 67 + 1) * 0x1p-24;
  for (std::size_t i = 0; i < n; ++i) {
    const double exact = std::exp(double{x[i]}) / sum;
    EXPECT_NEAR(y[i], exact, 2 * bound * exact);
  }
}

TEST_P(Softmax, WorksInPlaceOnRowsFurtherApart) {
  Random random(22);
  const std::vector<float> x = numerics::random_floats(random, 3 * 30);
  std::vector<float> y = x;
  std::vector<float> expected = x;
  const MatrixView<float> view(y.data(), 3, 21, 30);
  softmax(view, view);
  softmax_reference(MatrixView<const float>(x.data(), 3, 21, 30),
                    MatrixView<float>(expected.data(), 3, 21, 30));
  EXPECT_EQ(y, expected);
}

HALFTONE_INSTANTIATE_PER_TARGET(Softmax);

}  // namespace
}  // namespace halftone::kernels
