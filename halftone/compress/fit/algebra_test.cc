// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/algebra.h"

#include <gtest/gtest.h>

#include <limits>

#include "halftone/base/parallel.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/kernels/dense/cholesky.h"

namespace halftone::compress {
namespace {

constexpr double kEpsilon = std::numeric_limits<double>::epsilon();

Matrix random_matrix(Random& random, Eigen::Index rows, Eigen::Index cols) {
  Matrix matrix(rows, cols);
  for (double& x : matrix.reshaped()) x = random.normal();
  return matrix;
}

/// X' X + I.
Matrix positive_definite(Random& random, Eigen::Index n) {
  const Matrix x = random_matrix(random, n, n);
  Matrix result = multiply(kernels::transposed(view_of(x)), view_of(x));
  result.diagonal().array() += 1;
  return result;
}

TEST(Algebra, MultipliesBlocksOfRowsAsOneProduct) {
  Random random(1);
  const Matrix a = random_matrix(random, 450, 30);
  const Matrix b = random_matrix(random, 30, 20);
  Matrix expected(450, 20);
  kernels::matmul_reference(view_of(a), view_of(b), view_of(expected), kernels::Update::kAssign,
                            kernels::Region::kAll);
  EXPECT_EQ(multiply(view_of(a), view_of(b)), expected);
  const Matrix transpose = a.transpose();
  EXPECT_EQ(multiply(kernels::transposed(view_of(transpose)), view_of(b)), expected);
  EXPECT_EQ(multiply(a, Vector(b.col(3))), expected.col(3));
}

TEST(Algebra, FactorsTheInverseOfAHessian) {
  Random random(2);
  for (const Eigen::Index n : {1, 5, 40, 250}) {
    const Matrix hessian = positive_definite(random, n);
    const Matrix u = inverse_factor(hessian);
    const Matrix left = multiply(view_of(u), view_of(hessian));
    const Matrix found = multiply(view_of(left), kernels::transposed(view_of(u)));
    // U H U' is the identity. The eigenvalues of H are at least 1, so entries of U are at most 1;
    // U is computed with a relative error of n epsilon times the condition of H, and each product
    // sums n terms.
    const double condition = hessian.diagonal().sum();
    const double bound = 4 * static_cast<double>(n) * kEpsilon * condition;
    for (Eigen::Index i = 0; i < n; ++i) {
      for (Eigen::Index j = 0; j < n; ++j) {
        EXPECT_NEAR(found(i, j), i == j ? 1 : 0, bound) << n << ": " << i << ", " << j;
        if (j < i) {
          EXPECT_EQ(u(i, j), 0);
        }
      }
    }
  }
}

TEST(Algebra, FactorsInPanelsAsInPlainLoops) {
  Random random(7);
  const Eigen::Index n = 450;
  const Matrix hessian = positive_definite(random, n);
  Matrix v = hessian.reverse();
  ASSERT_TRUE(kernels::cholesky_reference(view_of(v)));
  Matrix inverse = Matrix::Identity(n, n);
  kernels::solve_transposed_reference(view_of(v), view_of(inverse));
  const Matrix expected = inverse.reverse();
  for (const int threads : {1, 2, 5}) {
    set_num_threads(threads);
    EXPECT_EQ(inverse_factor(hessian), expected) << threads;
  }
  set_num_threads(0);
}

TEST(Algebra, RefusesAHessianThatIsNotPositiveDefinite) {
  Matrix hessian = -Matrix::Identity(3, 3);
  expect_error(ErrorKind::kUnsupported, "positive definite", [&] { inverse_factor(hessian); });
  hessian = Matrix::Identity(500, 500);
  hessian(3, 3) = -1;  // seen in the last of several panels
  expect_error(ErrorKind::kUnsupported, "positive definite", [&] { inverse_factor(hessian); });
}

TEST(Algebra, SolvesLeastSquares) {
  Random random(3);
  const Matrix a = random_matrix(random, 30, 6);
  const Vector wanted = random_matrix(random, 6, 1).col(0);
  const Vector found = solve_least_squares(a, multiply(a, wanted), 0);
  // The normal equations square the condition, which is below 10 for so many random rows.
  for (Eigen::Index i = 0; i < 6; ++i) EXPECT_NEAR(found[i], wanted[i], 100 * 30 * kEpsilon);
}

TEST(Algebra, LeavesWhatNothingDeterminesFinite) {
  const Matrix zero = Matrix::Zero(3, 3);
  EXPECT_EQ(solve_ridge(zero, Vector::Zero(3)), Vector::Zero(3));
  const Matrix ones = Matrix::Ones(2, 2);
  const Vector found = solve_ridge(ones, Vector::Ones(2));
  EXPECT_NEAR(found[0] + found[1], 1, 1e-8);  // ten times the ridge
  // Without a ridge the second unknown has no pivot left, and stays 0.
  const Vector without = solve_ridge(ones, Vector::Ones(2), 0);
  EXPECT_EQ(without[0], 1);
  EXPECT_EQ(without[1], 0);
}

TEST(Algebra, AddsInOrder) {
  const double numbers[] = {1, kEpsilon / 2, kEpsilon / 2, -1};
  EXPECT_EQ(sum_of(Eigen::Map<const Vector>(numbers, 4)), 0);
}

TEST(SolveScaledRidge, DrawsNoParameterToZeroMoreThanOthers) {
  // Levels 0 ... 255 of y = 3 level - 400: the offset is far smaller than the features' sizes.
  Matrix features(256, 2);
  Vector y(256);
  for (Eigen::Index i = 0; i < 256; ++i) {
    features(i, 0) = static_cast<double>(i);
    features(i, 1) = 1;
    y[i] = 3 * static_cast<double>(i) - 400;
  }
  const Matrix transpose = features.transpose();
  const Vector found = solve_scaled_ridge(multiply(view_of(transpose), view_of(features)),
                                          multiply(transpose, y), 1e-6);
  EXPECT_NEAR(found[0], 3, 1e-4);
  EXPECT_NEAR(found[1], -400, 0.01);
}

}  // namespace
}  // namespace halftone::compress
