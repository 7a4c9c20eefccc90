// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/metric.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/compress/fit/group_error.h"
#include "halftone/compress/fit/group_testing.h"

namespace halftone::compress {
namespace {

double at(MatrixView<const float> matrix, std::size_t i, std::size_t j) {
  return static_cast<double>(matrix(i, j));
}

TEST(Metric, IsDampedAndScaledByAPowerOfTwo) {
  const std::vector<float> moments = {4, 1, 1, 12};  // of mean 8, which becomes a half
  const Metric<float> metric =
      Metric<float>::of(MatrixView<const float>(moments, 2, 2), {.channel = 0.5, .uniform = 0.25});
  EXPECT_EQ(metric.inputs(), 2U);
  EXPECT_FALSE(metric.is_diagonal());
  EXPECT_EQ(at(metric.hessian(), 0, 0), (4 * 1.5 + 0.25 * 8) / 16);
  EXPECT_EQ(at(metric.hessian(), 0, 1), 1.0 / 16);
  EXPECT_EQ(at(metric.hessian(), 1, 0), 1.0 / 16);
  EXPECT_EQ(at(metric.hessian(), 1, 1), (12 * 1.5 + 0.25 * 8) / 16);
}

TEST(Metric, HasAFactorOfTheInverse) {
  const TestLayer layer(1, 50);
  const Metric<float> metric = Metric<float>::of(layer.m());
  // H U' U = 1.
  for (std::size_t i = 0; i < 50; ++i) {
    for (std::size_t j = 0; j < 50; ++j) {
      double sum = 0;
      double size = 0;
      for (std::size_t k = 0; k < 50; ++k) {
        for (std::size_t l = 0; l <= std::min(k, j); ++l) {
          const double term =
              at(metric.hessian(), i, k) * at(metric.factor(), l, k) * at(metric.factor(), l, j);
          sum += term;
          size += std::abs(term);
        }
      }
      // Each of the three factors was rounded to float32.
      EXPECT_NEAR(sum, i == j ? 1 : 0, 3 * 0x1p-24 * size);
    }
    for (std::size_t j = 0; j < i; ++j) EXPECT_EQ(metric.factor()(i, j), 0);
  }
}

TEST(Metric, ReadsTheUpperTriangleOfFloatsOrDoubles) {
  const TestLayer layer(1, 20);
  std::vector<float> upper = layer.moments;
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t j = 0; j < i; ++j) upper[i * 20 + j] = 1e30F;
  }
  const std::vector<double> doubles(upper.begin(), upper.end());
  const Metric<float> expected = Metric<float>::of(layer.m());
  const Metric<float> found = Metric<float>::of(MatrixView<const float>(upper, 20, 20));
  const Metric<float> of_doubles = Metric<float>::of(MatrixView<const double>(doubles, 20, 20));
  for (std::size_t i = 0; i < 20; ++i) {
    for (std::size_t j = 0; j < 20; ++j) {
      EXPECT_EQ(found.hessian()(i, j), expected.hessian()(i, j));
      EXPECT_EQ(found.factor()(i, j), expected.factor()(i, j));
      EXPECT_EQ(of_doubles.factor()(i, j), expected.factor()(i, j));
    }
  }
}

TEST(Metric, GivesInputsThatAreAlwaysZeroAMoment) {
  const std::vector<float> moments = {0, 0, 0, 8};
  const Metric<float> metric =
      Metric<float>::of(MatrixView<const float>(moments, 2, 2), {.channel = 0.1, .uniform = 0});
  EXPECT_EQ(metric.hessian()(0, 0), 0.5F);  // the mean of 4, scaled
  const std::vector<float> zeros(9);
  const Metric<float> of_zeros = Metric<float>::of(MatrixView<const float>(zeros, 3, 3));
  EXPECT_EQ(of_zeros.hessian()(1, 1), 0.001F);
}

TEST(Metric, OfADiagonalIsADiagonal) {
  const Metric<float> metric =
      Metric<float>::diagonal(std::vector<float>{2, 6}, {.channel = 0, .uniform = 0});
  EXPECT_TRUE(metric.is_diagonal());
  EXPECT_EQ(metric.inputs(), 2U);
  EXPECT_EQ(metric.hessian()(0, 0), 2.0F / 8);
  EXPECT_EQ(metric.hessian()(0, 1), 6.0F / 8);
  EXPECT_EQ(metric.factor()(0, 0), 2);
  const Metric<float> identity = Metric<float>::identity(2);
  EXPECT_EQ(identity.hessian()(0, 0), 0.5F);
  EXPECT_EQ(identity.hessian()(0, 1), 0.5F);
}

TEST(Metric, InFloat64IsNotScaled) {
  const std::vector<double> moments = {4, 1, 1, 12};
  const auto metric = Metric<double>::of(MatrixView<const double>(moments, 2, 2),
                                         {.channel = 0.5, .uniform = 0.25});
  EXPECT_EQ(metric.hessian()(0, 0), 4 * 1.5 + 0.25 * 8);
  EXPECT_EQ(metric.hessian()(1, 0), 1);
  EXPECT_EQ(metric.hessian()(1, 1), 12 * 1.5 + 0.25 * 8);
  EXPECT_EQ(metric.moments(), (std::vector<float>{4, 12}));
  EXPECT_EQ(Metric<double>::identity(2).hessian()(0, 1), 1);
  EXPECT_TRUE(Metric<double>::identity(2).moments().empty());
}

TEST(FitTarget, IsWhatTheFloatLayerNeedsOfItsActualInputs) {
  const std::vector<float> weights = {1, 2, -3, 4};
  const MatrixView<const float> w(weights, 2, 2);
  // Actual inputs that are half and twice as large as those of the float network.
  auto metric = Metric<double>::of(Matrix{{0.25, 0.0}, {0.0, 16.0}}, {.channel = 0, .uniform = 0});
  metric.set_cross(Matrix{{0.5, 0.0}, {0.0, 8.0}});
  const FitTarget found = target_of(metric, w);
  EXPECT_EQ(found.weights, (Matrix{{2.0, 1.0}, {-6.0, 2.0}}));
  EXPECT_EQ(found.product, (Matrix{{0.5, 16.0}, {-1.5, 32.0}}));
}

TEST(FitTarget, IsDrawnToTheFloatWeightsByDamping) {
  const std::vector<float> weights = {1, 2};
  const MatrixView<const float> w(weights, 1, 2);
  // D = 1 * M + 0.5 * mean(2, 6) = (4, 8): H = (6, 14).
  auto metric = Metric<double>::of(Matrix{{2.0, 0.0}, {0.0, 6.0}}, {.channel = 1, .uniform = 0.5});
  metric.set_cross(Matrix::Zero(2, 2));
  const FitTarget found = target_of(metric, w);
  EXPECT_EQ(found.product, (Matrix{{4.0, 16.0}}));
  EXPECT_NEAR(found.weights(0, 0), 4.0 / 6, 4 * 0x1p-53);
  EXPECT_NEAR(found.weights(0, 1), 16.0 / 14, 4 * 0x1p-53);
}

TEST(FitTarget, OfTheSameInputsIsTheFloatWeights) {
  const TestLayer layer(3, 20);
  const auto metric = Metric<double>::of(layer.m());
  const FitTarget found = target_of(metric, layer.w());
  EXPECT_EQ(found.weights, to_matrix(layer.w()));
  EXPECT_EQ(found.product, multiply(view_of(found.weights), metric.hessian()));
  EXPECT_EQ(target_of(Metric<double>::identity(20), layer.w()).product.size(), 0);
  expect_error(ErrorKind::kShape, "weights have 20 columns, the metric 21 inputs",
               [&] { target_of(Metric<double>::identity(21), layer.w()); });
}

TEST(GroupErrors, AreThoseOfTheOutputs) {
  const std::vector<float> weights = {1, 2, 3, 4};
  const std::vector<float> values = {1, 1, 2, 6};
  const std::vector<float> moments = {2, 1, 1, 3};
  const MatrixView<const float> w(weights, 2, 2);
  const MatrixView<const float> q(values, 2, 2);
  const MatrixView<const float> m(moments, 2, 2);
  // Errors (0, 1) and (1, -2): 3 and 2 - 4 + 12 = 10.
  EXPECT_EQ(output_errors(w, q, m), (std::vector<double>{3, 10}));
  // Outputs: (1, 2): 2 + 4 + 12 = 18; (3, 4): 18 + 24 + 48 = 90.
  EXPECT_DOUBLE_EQ(relative_output_error(w, q, m), 13.0 / 108);
  EXPECT_EQ(relative_output_error(w, w, m), 0);
  const std::vector<float> zeros(4);
  const MatrixView<const float> zero(zeros, 2, 2);
  EXPECT_EQ(relative_output_error(zero, zero, m), 0);
  EXPECT_EQ(predicted_loss(output_errors(w, q, m), std::vector<double>{2, 0.5}), 5.5);
  EXPECT_EQ(predicted_loss(output_errors(w, q, m), std::vector<double>{2}), 13) << "stacked rows";
}

TEST(GroupErrors, AreTheSameForManyRows) {
  const TestLayer layer(200, 30);
  const TestLayer other(200, 30, 2);
  const auto all = output_errors(layer.w(), other.w(), layer.m());
  for (const std::size_t r : {0U, 95U, 96U, 199U}) {
    const auto one = output_errors(layer.w().rows_from(r, 1), other.w().rows_from(r, 1), layer.m());
    EXPECT_EQ(all[r], one[0]);
  }
}

}  // namespace
}  // namespace halftone::compress
