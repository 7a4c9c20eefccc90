// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/compress/fit/fit_matrix.h"
#include "halftone/compress/fit/testing.h"
#include "halftone/numerics/vector_codes.h"

namespace halftone::compress {
namespace {

WeightFormat vector_format(std::string_view rate) {
  WeightFormat format;
  format.system = &numerics::find_system(rate);
  format.bits = format.system->max_bits;
  format.granularity = numerics::Granularity::kGroup;
  format.group_size = 64;
  return format;
}

std::vector<float> normal_numbers(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> numbers(count);
  for (float& each : numbers) each = static_cast<float>(random.normal());
  return numbers;
}

/// Inputs with much in common.
LayerStatistics common_inputs(std::size_t cols, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> x(400 * cols);
  for (std::size_t s = 0; s < 400; ++s) {
    const double common = random.normal();
    for (std::size_t c = 0; c < cols; ++c) {
      x[s * cols + c] = static_cast<float>(common + 0.5 * random.normal() + 0.3);
    }
  }
  LayerStatistics::Builder builder(cols);
  builder.add({std::span<const float>(x), 400, cols}, {std::span<const float>(x), 400, cols});
  return builder.finish();
}

/// Sum over rows of (w - q)' H (w - q), where H is of inputs less their mean.
double output_error(const std::vector<float>& weights, const MatrixFit& fit,
                    const LayerStatistics& statistics) {
  const std::vector<float> decoded = numerics::decode(fit.codes, fit.encoding);
  const Matrix h = statistics.hessian(true);
  const auto cols = h.rows();
  double sum = 0;
  for (std::size_t row = 0; row < fit.codes.rows; ++row) {
    Vector error(cols);
    for (Eigen::Index c = 0; c < cols; ++c) {
      const std::size_t at = row * fit.codes.cols + static_cast<std::size_t>(c);
      error[c] = double{weights[at]} - double{decoded[at]};
    }
    sum += error.dot(h * error);
  }
  return sum;
}

TEST(VectorFit, IsThatOfGroups) {
  constexpr std::size_t kCols = 131;
  const std::vector<float> numbers = normal_numbers(7 * kCols, 1);
  const MatrixView<const float> weights(numbers, 7, kCols);
  for (const char* rate : {"2x6", "4x9"}) {
    const WeightFormat format = vector_format(rate);
    const auto metric = Metric<double>::identity(kCols);
    const MatrixFit fit = fit_matrix(weights, {&metric, 1}, format, {.refine_sweeps = 2});
    EXPECT_NO_THROW(fit.encoding.check(7, kCols));
    EXPECT_EQ(numerics::why_no_vectors(fit.codes, *format.system->vectors), "");
    const GroupCodes codes = vector_groups(format);
    const GroupFit groups = fit_matrix(weights, Metric<float>::identity(kCols), codes);
    std::vector<float> expected(numbers.size());
    decode(groups, codes, MatrixView<float>(expected, 7, kCols));
    EXPECT_EQ(numerics::decode(fit.codes, fit.encoding), expected);
  }
}

TEST(VectorFit, GroupsOfRowsShareAFactor) {
  constexpr std::size_t kCols = 9;
  std::vector<float> numbers = normal_numbers(4 * kCols, 2);
  for (std::size_t i = 0; i < 2 * kCols; ++i) numbers[i] *= 20;
  const MatrixView<const float> weights(numbers, 4, kCols);
  const std::vector<LayerStatistics> statistics = {common_inputs(kCols, 1),
                                                   common_inputs(kCols, 2)};
  const MatrixFit fit = fit_to_statistics(weights, vector_format("2x8"), statistics, {});
  EXPECT_NO_THROW(fit.encoding.check(4, kCols));
  EXPECT_EQ(fit.encoding.scales.num_factors(), 1U);
  const std::vector<float> decoded = numerics::decode(fit.codes, fit.encoding);
  double error = 0;
  double size = 0;
  for (std::size_t i = 2 * kCols; i < numbers.size(); ++i) {
    error += std::pow(numbers[i] - decoded[i], 2);
    size += std::pow(numbers[i], 2);
  }
  // The small rows are no worse for the large ones: 4 bits keep well over nine tenths of them.
  EXPECT_LT(error, 0.1 * size);
}

TEST(VectorFit, StepsHelp) {
  constexpr std::size_t kCols = 96;
  const std::vector<float> numbers = normal_numbers(16 * kCols, 3);
  const MatrixView<const float> weights(numbers, 16, kCols);
  const LayerStatistics statistics = common_inputs(kCols, 4);
  const WeightFormat format = vector_format("2x6");
  const auto error_with = [&](bool feedback, bool refine, bool input_weighted) {
    MatrixFitOptions options;
    options.feedback = feedback;
    options.refine = refine;
    options.input_weighted = input_weighted;
    return output_error(numbers, fit_weights(weights, format, statistics, options), statistics);
  };
  const double all = error_with(true, true, true);
  EXPECT_LT(all, error_with(true, false, true));
  EXPECT_LT(error_with(true, false, true), error_with(false, false, true));
  EXPECT_LT(all, 0.7 * error_with(false, false, false));
}

TEST(VectorFit, TableAndZeros) {
  const std::vector<float> zeros(2 * 10);
  const Metric<double> metric = Metric<double>::identity(10);
  const MatrixFit fit =
      fit_matrix(MatrixView<const float>(zeros, 2, 10), {&metric, 1}, vector_format("4x8"));
  EXPECT_NO_THROW(fit.encoding.check(2, 10));
  // The least factor, the least scale of e3m5, and the largest level.
  const float bound = 127 * numerics::least_scale(numerics::NumberType::kFloat32);
  for (const float value : numerics::decode(fit.codes, fit.encoding)) {
    EXPECT_LE(std::abs(value), bound);
  }
}

TEST(VectorFit, RefusesOtherGroups) {
  WeightFormat format = vector_format("4x8");
  format.group_size = 6;
  expect_error(ErrorKind::kUsage,
               "scheme 4x8: expected a group size that is a multiple of 4, at most 256, found 6",
               [&] { vector_groups(format); });
  format.group_size = 512;
  expect_error(ErrorKind::kUsage, "found 512", [&] { vector_groups(format); });
  format.granularity = numerics::Granularity::kChannel;
  expect_error(ErrorKind::kUsage, "scheme 4x8: expected granularity group, found channel",
               [&] { vector_groups(format); });
}

}  // namespace
}  // namespace halftone::compress
