// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/dense/cholesky.h"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

#include "halftone/kernels/dense/matmul.h"
#include "halftone/kernels/per_target.h"
#include "halftone/kernels/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Cholesky = PerTarget;

std::vector<double> random_doubles(Random& random, std::size_t count) {
  std::vector<double> values(count);
  for (double& value : values) value = random.normal();
  return values;
}

/// X' X + I; elements left of the diagonal are NaN, because they must not be read.
std::vector<double> positive_definite(Random& random, std::size_t n) {
  const std::vector<double> x = random_doubles(random, 2 * n * n);
  const MatrixView<const double> rows(x, 2 * n, n);
  std::vector<double> a(n * n, std::numeric_limits<double>::quiet_NaN());
  const MatrixView<double> view(a, n, n);
  matmul_reference(transposed(rows), rows, view, Update::kAssign, Region::kUpper);
  for (std::size_t k = 0; k < n; ++k) view(k, k) += 1;
  return a;
}

TEST_P(Cholesky, MatchesReference) {
  Random random(70);
  for (const std::size_t n : {0U, 1U, 2U, 15U, 16U, 17U, 33U, 70U, 150U}) {
    std::vector<double> a = positive_definite(random, n);
    std::vector<double> expected = a;
    EXPECT_TRUE(cholesky(MatrixView<double>(a, n, n)));
    EXPECT_TRUE(cholesky_reference(MatrixView<double>(expected, n, n)));
    EXPECT_EQ(bit_patterns(a), bit_patterns(expected)) << n;
  }
}

TEST_P(Cholesky, GivesAFactor) {
  Random random(71);
  constexpr std::size_t kN = 40;
  const std::vector<double> a = positive_definite(random, kN);
  std::vector<double> u = a;
  ASSERT_TRUE(cholesky(MatrixView<double>(u, kN, kN)));
  double scale = 0;
  for (std::size_t i = 0; i < kN; ++i) scale = std::max(scale, a[i * kN + i]);
  // Each element is a sum of at most n products bounded by the largest diagonal element, so the
  // error of the factorisation is at most (n + 1) epsilon times that.
  const double bound = (kN + 1) * std::numeric_limits<double>::epsilon() * scale;
  for (std::size_t i = 0; i < kN; ++i) {
    for (std::size_t j = i; j < kN; ++j) {
      double sum = 0;
      for (std::size_t k = 0; k <= i; ++k) sum += u[k * kN + i] * u[k * kN + j];
      EXPECT_NEAR(sum, a[i * kN + j], bound) << i << ", " << j;
    }
  }
}

TEST_P(Cholesky, ReportsMatricesThatAreNotPositiveDefinite) {
  Random random(72);
  for (const std::size_t n : {3U, 40U}) {
    for (const double bad : {-1.0, 0.0, std::numeric_limits<double>::quiet_NaN()}) {
      std::vector<double> a = positive_definite(random, n);
      a.back() = bad;
      EXPECT_FALSE(cholesky(MatrixView<double>(a, n, n)));
    }
  }
}

TEST_P(Cholesky, SolvesLikeTheReference) {
  Random random(73);
  for (const std::size_t n : {1U, 16U, 17U, 50U, 129U}) {
    std::vector<double> u = positive_definite(random, n);
    ASSERT_TRUE(cholesky(MatrixView<double>(u, n, n)));
    for (const std::size_t cols : {0U, 1U, 19U}) {
      std::vector<double> b = random_doubles(random, n * cols);
      std::vector<double> expected = b;
      solve_transposed(MatrixView<const double>(u, n, n), MatrixView<double>(b, n, cols));
      solve_transposed_reference(MatrixView<const double>(u, n, n),
                                 MatrixView<double>(expected, n, cols));
      EXPECT_EQ(bit_patterns(b), bit_patterns(expected)) << n << ", " << cols;
    }
  }
}

HALFTONE_INSTANTIATE_PER_TARGET(Cholesky);

}  // namespace
}  // namespace halftone::kernels
