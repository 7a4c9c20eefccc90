// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/relative_fit.h"

#include <gtest/gtest.h>

#include <vector>

namespace halftone {
namespace {

using Row = std::array<double, 2>;

TEST(RelativeFit, FindsTheCoefficientsOfAnExactModel) {
  std::vector<Row> rows;
  for (const double x : {1.0, 5.0, 100.0}) {
    const double cost = 3 + 0.5 * x;
    rows.push_back({1 / cost, x / cost});
  }
  const auto found = fit_relative<2>(rows);
  EXPECT_NEAR(found.coefficients[0], 3, 1e-9);
  EXPECT_NEAR(found.coefficients[1], 0.5, 1e-9);
  EXPECT_NEAR(found.error, 0, 1e-18);
}

TEST(RelativeFit, HasNoNegativeCoefficients) {
  // Costs that fall with x: the best line would have a negative slope.
  const std::vector<Row> rows = {{1.0 / 4, 1.0 / 4}, {1.0 / 2, 3.0 / 2}};
  const auto found = fit_relative<2>(rows);
  EXPECT_EQ(found.coefficients[1], 0);
  // The constant c that minimises (c/4 - 1)^2 + (c/2 - 1)^2 is 12/5.
  EXPECT_NEAR(found.coefficients[0], 2.4, 1e-12);
}

TEST(RelativeFit, IgnoresTermsThatNeverOccur) {
  const std::vector<Row> rows = {{0.5, 0}, {0.5, 0}};
  const auto found = fit_relative<2>(rows);
  EXPECT_NEAR(found.coefficients[0], 2, 1e-12);
  EXPECT_EQ(found.coefficients[1], 0);
}

}  // namespace
}  // namespace halftone
