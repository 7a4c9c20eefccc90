// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Softmax = PerTarget;

void expect_softmax_matches(const std::vector<float>& x, std::size_t rows) {
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
    expect_softmax_matches(numerics::random_floats(random, 3 * cols), 3);
  }
}

TEST_P(Softmax, MatchesReferenceOnExtremeRows) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  for (const std::size_t cols : {1U, 5U, 16U, 19U}) {
    for (const float fill : {0.0F, 1e30F, -1e30F, -kInfinity}) {
      for (const float one : {0.0F, 3.0e38F, kInfinity, -kInfinity, nan}) {
        std::vector<float> row(cols, fill);
        row[cols / 2] = one;
        expect_softmax_matches(row, 1);
      }
    }
  }
}

TEST_P(Softmax, StaysWithinItsBound) {
  Random random(21);
  for (const std::size_t n : {1U, 10U, 1000U, 30000U}) {
    for (const float scale : {0.1F, 5.0F, 30.0F}) {
      std::vector<float> x = numerics::random_floats(random, n);
      for (float& value : x) value *= scale;
      std::vector<float> y(n);
      softmax(MatrixView<const float>(x, 1, n), MatrixView<float>(y, 1, n));
      const double largest = *std::max_element(x.begin(), x.end());
      double sum = 0;
      for (const float value : x) sum += std::exp(double{value} - largest);
      const auto terms = static_cast<double>(n);
      for (std::size_t i = 0; i < n; ++i) {
        const double below = double{x[i]} - largest;
        const double exact = std::exp(below) / sum;
        const double bound = (-below + std::log(terms) + terms / 16 + 10) * 0x1p-24;
        ASSERT_NEAR(y[i], exact, std::max(bound * exact, 0x1p-149)) << n << ", " << i;
      }
    }
  }
}

TEST_P(Softmax, WorksInPlaceWithRowStrides) {
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
