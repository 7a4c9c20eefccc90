// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "halftone/base/half.h"
#include "halftone/base/parallel.h"
#include "halftone/base/testing.h"
#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/compress/fit/group_error.h"
#include "halftone/compress/fit/group_testing.h"
#include "halftone/numerics/stored_numbers.h"

namespace halftone::compress {
namespace {

/// The relative error of the outputs of a layer.
double group_error(const TestLayer& layer, const GroupCodes& grid, const MatrixFitOptions& options,
                   const Damping& damping = {}) {
  const Metric<float> metric = Metric<float>::of(layer.m(), damping);
  const auto values = decoded(fit_matrix(layer.w(), metric, grid, options), grid);
  return relative_output_error(layer.w(), {values, layer.outputs, layer.inputs}, layer.m());
}

class GroupFitOfGrid : public testing::TestWithParam<NamedGrid> {};

INSTANTIATE_TEST_SUITE_P(Files, GroupFitOfGrid, testing::ValuesIn(grids_of_files()),
                         [](const auto& of) { return "Grid" + of.param.name; });

TEST_P(GroupFitOfGrid, EveryStepLowersTheError) {
  const GroupCodes& grid = GetParam().grid;
  const TestLayer layer(40, 288);
  const double nearest =
      group_error(layer, grid, {.feedback = false, .candidates = 1, .sweeps = 0});
  const double feedback = group_error(layer, grid, {.candidates = 1, .sweeps = 0});
  const double candidates = group_error(layer, grid, {.candidates = 8, .sweeps = 0});
  const double sweep = group_error(layer, grid, {.candidates = 8, .sweeps = 1});
  const double sweeps = group_error(layer, grid, {.candidates = 8, .sweeps = 2});
  EXPECT_LT(feedback, nearest);
  EXPECT_LT(candidates, feedback);
  EXPECT_LT(sweep, candidates);
  EXPECT_LT(sweeps, sweep);
}

TEST_P(GroupFitOfGrid, StoresWhatAFileCanHold) {
  const GroupCodes& grid = GetParam().grid;
  const TestLayer layer(20, 300);
  const GroupFit fit = fit_matrix(layer.w(), Metric<float>::of(layer.m()), grid);
  EXPECT_EQ(fit.codes.size(), 20 * grid.codes_per_row(300));
  EXPECT_EQ(fit.scales.size(), 20 * grid.groups_per_row(300));
  EXPECT_EQ(fit.offsets.size(), grid.has_offsets ? fit.scales.size() : 0);
  EXPECT_THAT(fit.codes, testing::Each(testing::Lt(grid.num_codewords())));
  const auto is_half = [](float x) { return float_from_half(half_from_float(x)) == x; };
  const auto is_integer = [](float x, int first, int last) {
    return x == std::round(x) && x >= static_cast<float>(first) && x <= static_cast<float>(last);
  };
  for (const float scale : fit.scales) {
    switch (grid.scales) {
      case GroupScales::kHalf:
        EXPECT_TRUE(is_half(scale));
        break;
      case GroupScales::kHalfTimesByte:
        EXPECT_TRUE(is_integer(scale, grid.min_scale, grid.max_scale)) << scale;
        break;
      case GroupScales::kE3m5:
      case GroupScales::kE4m3:
        EXPECT_EQ(
            numerics::round_to(numerics::factored_type(grid.scales), static_cast<double>(scale)),
            scale);
        break;
      case GroupScales::kPowerOfTwo:
        EXPECT_EQ(numerics::round_to(numerics::NumberType::kE8m0, static_cast<double>(scale)),
                  scale);
        break;
      case GroupScales::kFloat:
        FAIL() << "no fit writes such scales";
    }
  }
  const bool is_integral = grid.scales == GroupScales::kHalfTimesByte;
  for (const float offset : fit.offsets) {
    EXPECT_TRUE(is_integral ? is_integer(offset, 0, grid.max_offset) : is_half(offset)) << offset;
  }
  if (is_integral) {
    EXPECT_EQ(fit.scale_factors.size(), 20 * 2U);
    EXPECT_TRUE(std::ranges::all_of(fit.scale_factors, is_half));
    EXPECT_TRUE(std::ranges::all_of(fit.offset_factors, is_half));
    EXPECT_THAT(fit.offset_factors, testing::Each(testing::Le(0)));
  }
}

TEST_P(GroupFitOfGrid, IsTheSameForAnyNumberOfThreads) {
  const GroupCodes& grid = GetParam().grid;
  const TestLayer layer(250, 70);
  const Metric<float> metric = Metric<float>::of(layer.m());
  const auto fit_with = [&](int threads) {
    set_num_threads(threads);
    GroupFit fit = fit_matrix(layer.w(), metric, grid);
    set_num_threads(0);
    return fit;
  };
  const GroupFit expected = fit_with(1);
  EXPECT_TRUE(fit_with(2) == expected);
  EXPECT_TRUE(fit_with(5) == expected);
}

TEST_P(GroupFitOfGrid, DoesNotDependOnOtherRows) {
  const GroupCodes& grid = GetParam().grid;
  if (numerics::has_tensor_factor(grid.scales)) GTEST_SKIP() << "all rows share a factor";
  const TestLayer layer(100, 64);
  const Metric<float> metric = Metric<float>::of(layer.m());
  const GroupFit all = fit_matrix(layer.w(), metric, grid);
  const GroupFit some = fit_matrix(layer.w().rows_from(90, 7), metric, grid);
  const auto values = decoded(all, grid);
  EXPECT_EQ(std::vector<float>(values.begin() + 90 * 64, values.begin() + 97 * 64),
            decoded(some, grid));
}

TEST_P(GroupFitOfGrid, StandsAnyFiniteWeights) {
  const GroupCodes& grid = GetParam().grid;
  TestLayer layer(33, 75);  // neither whole vectors of rows nor whole groups
  for (std::size_t i = 0; i < 75; ++i) {
    layer.moments[i * 75 + 9] = 0;  // never active
    layer.moments[9 * 75 + i] = 0;
    layer.weights[0 * 75 + i] = 0;
    layer.weights[1 * 75 + i] *= 1e-30F;
    layer.weights[2 * 75 + i] *= 1e-6F;
    layer.weights[3 * 75 + i] *= 1e6F;
    layer.weights[4 * 75 + i] = i < 70 ? 0.0F : 1.0F;
    layer.weights[5 * 75 + i] = -3;
  }
  layer.weights[6 * 75 + 20] = 1e4F;
  layer.weights[7 * 75 + 21] = 1e15F;
  for (const double uniform : {0.0, 0.001}) {
    for (const bool feedback : {false, true}) {
      const Metric<float> metric =
          Metric<float>::of(layer.m(), {.channel = 0.05, .uniform = uniform});
      const GroupFit fit = fit_matrix(layer.w(), metric, grid, {.feedback = feedback});
      const std::vector<float> values = decoded(fit, grid);
      EXPECT_TRUE(std::ranges::all_of(values, [](float x) { return std::isfinite(x); }));
      if (grid.scales != GroupScales::kPowerOfTwo) {
        EXPECT_TRUE(std::ranges::all_of(fit.scales, [](float x) { return std::abs(x) <= 65504; }));
      }
      if (grid.scales == GroupScales::kE3m5) continue;
      for (std::size_t i = 0; i < 75; ++i) EXPECT_EQ(values[i], 0) << "weights that are all zero";
    }
  }
}

TEST(GroupFit, OfZerosIsZero) {
  const std::vector<float> zeros(20 * 64);
  const TestLayer layer(1, 64);
  for (const NamedGrid& named : grids_of_files()) {
    const GroupFit fit = fit_matrix({zeros, 20, 64}, Metric<float>::of(layer.m()), named.grid);
    EXPECT_EQ(decoded(fit, named.grid), zeros) << named.name;
  }
}

TEST(GroupFit, OfNothingIsEmpty) {
  const GroupCodes grid = half_codes({4, -8}, 32);
  const GroupFit no_rows = fit_matrix({nullptr, 0, 5, 5}, Metric<float>::identity(5), grid);
  EXPECT_TRUE(no_rows.codes.empty());
  const GroupFit no_cols = fit_matrix({nullptr, 5, 0, 0}, Metric<float>::identity(0), grid);
  EXPECT_EQ(no_cols.rows, 5U);
  EXPECT_TRUE(no_cols.codes.empty());
}

TEST(GroupFit, FindsWeightsThatLieOnTheGrid) {
  const GroupCodes grid = half_codes({4, -8}, 32);
  TestLayer layer(40, 96);
  Random random(3);
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    // Every group has a level at an end, which gives the scale away.
    const int level = i % 32 == 0 ? -8 : static_cast<int>(random.below(16)) - 8;
    layer.weights[i] = 0.125F * static_cast<float>(level);
  }
  const GroupFit fit = fit_matrix(layer.w(), Metric<float>::of(layer.m()), grid);
  const double error = relative_output_error(layer.w(), {decoded(fit, grid), 40, 96}, layer.m());
  EXPECT_LT(error, 1e-4);
}

TEST(GroupFit, InADiagonalMetricIsThatOfTheSameMatrix) {
  const TestLayer layer(30, 80);
  std::vector<float> diagonal(80);
  std::vector<float> matrix(80 * 80);
  for (std::size_t i = 0; i < 80; ++i) {
    diagonal[i] = layer.moments[i * 81];
    matrix[i * 81] = diagonal[i];
  }
  for (const NamedGrid& named : grids_of_files()) {
    const auto expected = fit_matrix(
        layer.w(), Metric<float>::of(MatrixView<const float>(matrix, 80, 80)), named.grid);
    const auto found = fit_matrix(layer.w(), Metric<float>::diagonal(diagonal), named.grid);
    EXPECT_EQ(decoded(found, named.grid), decoded(expected, named.grid)) << named.name;
  }
}

TEST(GroupFit, WithoutFeedbackOrSweepsIsNearest) {
  const GroupCodes grid = half_codes({8, -128}, 32);
  const TestLayer layer(20, 64);
  const GroupFit fit = fit_matrix(layer.w(), Metric<float>::of(layer.m()), grid,
                                  {.feedback = false, .candidates = 1, .sweeps = 0});
  const std::vector<float> values = decoded(fit, grid);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_LE(std::abs(values[i] - layer.weights[i]), 0.5001F * std::abs(fit.scales[i / 32])) << i;
  }
}

}  // namespace
}  // namespace halftone::compress
