// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/nested_fit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/compress/fit/group_error.h"
#include "halftone/compress/fit/group_testing.h"
#include "halftone/numerics/nested_encoding.h"

namespace halftone::compress {
namespace {

/// The relative errors of the outputs of a layer in both precisions.
struct NestedErrors {
  double first = 0;
  double all = 0;
  /// What a fit minimises.
  [[nodiscard]] double sum() const { return all + first / 3; }
};

double error_of(const TestLayer& layer, const std::vector<float>& values) {
  return relative_output_error(layer.w(), {values, layer.outputs, layer.inputs}, layer.m());
}

NestedErrors errors_of(const TestLayer& layer, const GroupFit& fit) {
  std::vector<float> first(layer.weights.size());
  decode_first_bits(fit, MatrixView<float>(first, layer.outputs, layer.inputs));
  return {error_of(layer, first), error_of(layer, decoded(fit, numerics::nested_encoding()))};
}

NestedErrors nested_errors(const TestLayer& layer, const MatrixFitOptions& options = {}) {
  return errors_of(layer, fit_nested(layer.w(), Metric<float>::of(layer.m()), options));
}

GroupFit alone(const TestLayer& layer, const GroupCodes& grid) {
  return fit_matrix(layer.w(), Metric<float>::of(layer.m()), grid);
}

TEST(NestedFit, BeatsTheFirstBitsOfAFitOfFour) {
  const TestLayer layer(40, 256);
  const NestedErrors nested = nested_errors(layer);
  const NestedErrors cut = errors_of(layer, alone(layer, numerics::nested_encoding()));
  EXPECT_LT(nested.first, cut.first / 1.5);
  EXPECT_LT(nested.sum(), cut.sum());
}

TEST(NestedFit, IsNearlyAsCloseAsEachPrecisionAlone) {
  const TestLayer layer(40, 256);
  const NestedErrors nested = nested_errors(layer);
  const GroupFit four = alone(layer, numerics::nested_encoding());
  const GroupCodes& grid = numerics::first_bits_encoding();
  EXPECT_LT(nested.all, 1.6 * errors_of(layer, four).all);
  EXPECT_LT(nested.first, 1.6 * error_of(layer, decoded(alone(layer, grid), grid)));
}

TEST(NestedFit, EveryStepLowersTheError) {
  const TestLayer layer(40, 256);
  const auto error = [&](bool feedback, int candidates, int sweeps) {
    MatrixFitOptions options;
    options.feedback = feedback;
    options.candidates = candidates;
    options.sweeps = sweeps;
    return nested_errors(layer, options).sum();
  };
  const double feedback = error(true, 1, 0);
  const double candidates = error(true, 8, 0);
  const double sweep = error(true, 8, 1);
  EXPECT_LT(feedback, error(false, 1, 0));
  EXPECT_LT(candidates, feedback);
  EXPECT_LT(sweep, candidates);
  EXPECT_LT(error(true, 8, 2), sweep);
}

TEST(NestedFit, HasTheSameCodesForAnyThreads) {
  const TestLayer layer(100, 192);
  const Metric<float> metric = Metric<float>::of(layer.m());
  set_num_threads(1);
  const GroupFit one = fit_nested(layer.w(), metric);
  set_num_threads(3);
  EXPECT_EQ(fit_nested(layer.w(), metric), one);
  set_num_threads(1);
}

TEST(NestedFit, TakesInputsWithoutCorrelations) {
  const TestLayer layer(8, 128);
  const GroupFit fit = fit_nested(layer.w(), Metric<float>::identity(128));
  EXPECT_EQ(fit.codes.size(), 8 * 128U);
  EXPECT_EQ(fit.scales.size(), 8 * 2U);
  EXPECT_THAT(fit.codes, testing::Each(testing::Lt(16)));
  const std::vector<float> values = decoded(fit, numerics::nested_encoding());
  for (std::size_t i = 0; i < values.size(); ++i) {
    // Levels are two scales apart. Those of 3 bits pull by less than a step of four.
    const float scale = std::abs(fit.scales[i / 64]);
    if (std::abs(layer.weights[i]) > 13 * scale) continue;  // beyond the levels of a sign
    EXPECT_LE(std::abs(values[i] - layer.weights[i]), 4 * scale) << i;
  }
}

TEST(NestedFit, RejectsWhatFitMatrixRejects) {
  const TestLayer layer(2, 64);
  const Metric<float> metric = Metric<float>::identity(64);
  MatrixFitOptions options;
  options.candidates = 0;
  expect_error(ErrorKind::kUsage, "1 to 64 candidates",
               [&] { (void)fit_nested(layer.w(), metric, options); });
  expect_error(ErrorKind::kShape, "64 columns",
               [&] { (void)fit_nested(layer.w(), Metric<float>::identity(63)); });
  std::vector<float> weights(64, std::numeric_limits<float>::infinity());
  expect_error(ErrorKind::kUnsupported, "weight 0 of output 0", [&] {
    (void)fit_nested({weights, 1, 64}, metric);
  });
}

}  // namespace
}  // namespace halftone::compress
