// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/weight_fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "halftone/base/parallel.h"
#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/compress/fit/testing.h"
#include "halftone/numerics/distortion.h"
#include "halftone/spmd/testing.h"

namespace halftone::compress {
namespace {

constexpr std::size_t kFitSamples = 400;

/// A layer with correlated inputs, some of them always zero, and slightly disturbed actual inputs.
struct LayerCase {
  std::size_t rows;
  std::size_t cols;
  std::vector<float> weights;
  std::vector<float> original;  ///< [kFitSamples, cols]
  std::vector<float> actual;
  LayerStatistics statistics;

  LayerCase(std::size_t num_rows, std::size_t num_cols, std::uint64_t seed,
            double disturbance = 0.2)
      : rows(num_rows), cols(num_cols), statistics(num_cols) {
    Random random(seed);
    for (std::size_t i = 0; i < rows * cols; ++i) {
      weights.push_back(static_cast<float>(random.normal()));
    }
    for (std::size_t s = 0; s < kFitSamples; ++s) {
      const double common = random.normal();
      for (std::size_t c = 0; c < cols; ++c) {
        const double x = c % 7 == 3 ? 0 : common + 0.5 * random.normal() + 0.3;
        original.push_back(static_cast<float>(x));
        actual.push_back(static_cast<float>(c % 7 == 3 ? 0 : x + disturbance * random.normal()));
      }
    }
    LayerStatistics::Builder builder(cols);
    builder.add({std::span<const float>(actual), kFitSamples, cols},
                {std::span<const float>(original), kFitSamples, cols});
    statistics = builder.finish();
  }

  [[nodiscard]] MatrixView<const float> view() const {
    return {std::span<const float>(weights), rows, cols};
  }

  /// Mean squared error of the quantized layer's output against the float layer's.
  [[nodiscard]] double output_error(const MatrixFit& fit) const {
    const std::vector<float> decoded = numerics::decode(fit.codes, fit.encoding);
    double sum = 0;
    for (std::size_t s = 0; s < kFitSamples; ++s) {
      for (std::size_t r = 0; r < rows; ++r) {
        double difference = fit.bias_correction[static_cast<Eigen::Index>(r)];
        for (std::size_t c = 0; c < cols; ++c) {
          difference += static_cast<double>(decoded[r * cols + c]) * actual[s * cols + c] -
                        static_cast<double>(weights[r * cols + c]) * original[s * cols + c];
        }
        sum += difference * difference;
      }
    }
    return sum / static_cast<double>(kFitSamples * rows);
  }
};

WeightFormat format_of(int bits,
                       numerics::Granularity granularity = numerics::Granularity::kChannel,
                       std::size_t group_size = 0) {
  WeightFormat format;
  format.bits = bits;
  format.granularity = granularity;
  format.group_size = group_size;
  return format;
}

MatrixFitOptions only_step_one() {
  MatrixFitOptions options;
  options.feedback = false;
  options.refine = false;
  options.bias_correction = false;
  options.input_weighted = false;
  return options;
}

TEST(FitWeights, GainsByEveryStep) {
  const LayerCase layer(6, 45, 1, 0.02);
  for (int bits = 1; bits <= 3; ++bits) {
    MatrixFitOptions options = only_step_one();
    const double one =
        layer.output_error(fit_weights(layer.view(), format_of(bits), layer.statistics, options));
    options.bias_correction = true;
    const double corrected =
        layer.output_error(fit_weights(layer.view(), format_of(bits), layer.statistics, options));
    options.feedback = true;
    const double two =
        layer.output_error(fit_weights(layer.view(), format_of(bits), layer.statistics, options));
    options.refine = true;
    const double three =
        layer.output_error(fit_weights(layer.view(), format_of(bits), layer.statistics, options));
    EXPECT_LT(corrected, one) << bits;
    EXPECT_LT(two, corrected) << bits;
    EXPECT_LT(three, two) << bits;
  }
}

TEST(FitWeights, TakesEveryGranularityAndFinerOnesFitBetter) {
  const LayerCase layer(5, 40, 2);
  const auto error = [&](numerics::Granularity granularity, std::size_t group_size) {
    const MatrixFit fit =
        fit_weights(layer.view(), format_of(2, granularity, group_size), layer.statistics, {});
    fit.encoding.check(5, 40);
    EXPECT_EQ(fit.encoding.granularity, granularity);
    return layer.output_error(fit);
  };
  const double tensor = error(numerics::Granularity::kTensor, 0);
  const double channel = error(numerics::Granularity::kChannel, 0);
  const double group = error(numerics::Granularity::kGroup, 16);
  EXPECT_LT(channel, tensor);
  EXPECT_LT(group, channel);
}

TEST(FitWeights, RemovesTheMeanErrorThroughTheBias) {
  const LayerCase layer(4, 30, 3);
  const MatrixFit fit = fit_weights(layer.view(), format_of(1), layer.statistics, {});
  const std::vector<float> decoded = numerics::decode(fit.codes, fit.encoding);
  for (std::size_t r = 0; r < 4; ++r) {
    double mean = fit.bias_correction[static_cast<Eigen::Index>(r)];
    for (std::size_t c = 0; c < 30; ++c) {
      const auto i = static_cast<Eigen::Index>(c);
      mean += decoded[r * 30 + c] * layer.statistics.actual_mean()[i] -
              layer.weights[r * 30 + c] * layer.statistics.original_mean()[i];
    }
    EXPECT_NEAR(mean, 0, 1e-5);
  }
}

void expect_same(const MatrixFit& a, const MatrixFit& b) {
  EXPECT_EQ(a.encoding, b.encoding);
  EXPECT_EQ(a.codes, b.codes);
  EXPECT_EQ(a.bias_correction, b.bias_correction);
}

TEST(FitWeights, GivesTheSameBitsForAnyNumberOfThreads) {
  const LayerCase layer(37, 50, 4);
  for (const auto granularity : {numerics::Granularity::kTensor, numerics::Granularity::kChannel}) {
    set_num_threads(1);
    const MatrixFit one =
        fit_weights(layer.view(), format_of(2, granularity), layer.statistics, {});
    set_num_threads(4);
    const MatrixFit four =
        fit_weights(layer.view(), format_of(2, granularity), layer.statistics, {});
    set_num_threads(0);
    expect_same(one, four);
  }
}

TEST(FitWeights, GivesTheSameBitsForAnyDevicesAndRanks) {
  const LayerCase layer(37, 50, 4);
  for (const auto granularity : {numerics::Granularity::kTensor, numerics::Granularity::kChannel,
                                 numerics::Granularity::kGroup}) {
    const auto fit = [&](const spmd::Devices& devices) {
      const std::size_t group = granularity == numerics::Granularity::kGroup ? 16 : 0;
      return fit_weights(layer.view(), format_of(2, granularity, group), layer.statistics, {},
                         devices);
    };
    const MatrixFit one = fit(spmd::Devices::emulate(1));
    for (const std::size_t count : {2u, 7u, 64u})
      expect_same(fit(spmd::Devices::emulate(count)), one);
    const auto on_ranks = spmd::LocalRanks(3).run(
        [&](const auto& ranks) { return fit(spmd::Devices::over(ranks, 1 + ranks->rank() % 2)); });
    for (const MatrixFit& found : on_ranks) expect_same(found, one);
  }
}

TEST(FitWeights, FitsGroupsAsLayersOfTheirOwn) {
  const LayerCase first(6, 9, 1);
  const LayerCase second(6, 9, 2);
  std::vector<float> weights = first.weights;
  weights.insert(weights.end(), second.weights.begin(), second.weights.end());
  const MatrixView<const float> both(std::span<const float>(weights), 12, 9);
  const std::vector<LayerStatistics> statistics{first.statistics, second.statistics};
  const MatrixFit fit = fit_to_statistics(both, format_of(2), statistics, {});
  const std::vector<float> values = numerics::decode(fit.codes, fit.encoding);
  for (const auto& [layer, row] : {std::pair(&first, 0), std::pair(&second, 6)}) {
    const MatrixFit alone = fit_weights(layer->view(), format_of(2), layer->statistics, {});
    const std::vector<float> wanted = numerics::decode(alone.codes, alone.encoding);
    EXPECT_TRUE(std::ranges::equal(
        wanted, std::span(values).subspan(static_cast<std::size_t>(row) * 9, 54)));
    EXPECT_EQ(Vector(fit.bias_correction.segment(row, 6)), alone.bias_correction);
  }
}

TEST(FitWeights, KeepsEverySchemeWithinItsFreedom) {
  const LayerCase layer(3, 25, 5);
  for (const char* system : {"affine", "asymmetric", "symmetric", "fixed"}) {
    WeightFormat format = format_of(4);
    format.system = &numerics::find_system(system);
    const MatrixFit fit = fit_weights(layer.view(), format, layer.statistics, {});
    EXPECT_EQ(fit.encoding.codebook->name(), system);
    EXPECT_EQ(fit.encoding.has_offset, format.system->has_offset);
    for (std::size_t row = 0; format.system->rule == numerics::ScaleRule::kRangeWithZero && row < 3;
         ++row) {
      const numerics::LevelTable levels(fit.encoding.levels(row));
      EXPECT_EQ(levels.nearest(0), 0);
    }
    EXPECT_EQ(fit.encoding.scales.size(), 3U);
    EXPECT_EQ(fit.encoding.scales.type(), system == std::string("fixed")
                                              ? numerics::NumberType::kE8m0
                                              : numerics::NumberType::kFloat32);
  }
}

/// Weights whose groups of 16 differ in size and partly have one sign.
LayerCase uneven_layer(std::size_t rows, std::size_t cols) {
  LayerCase layer(rows, cols, 6);
  for (std::size_t i = 0; i < layer.weights.size(); ++i) {
    const std::size_t group = i % cols / 16 + i / cols;
    float& weight = layer.weights[i];
    if (group % 3 == 1) weight = std::abs(weight) + 1;
    if (group % 3 == 2) weight = -std::abs(weight) - 1;
    weight *= 0.25F * static_cast<float>(1 + group % 5);
  }
  return layer;
}

// Systems whose scales are rounded to few bits: every step of the fit gains, though it rounds.
TEST(FitWeights, GainsByEveryStepWithScalesOfFewBits) {
  const LayerCase layer = uneven_layer(37, 330);
  for (const char* system : {"bfp", "mxfp4", "nvfp4", "int_k", "affine_k", "asymmetric"}) {
    SCOPED_TRACE(system);
    WeightFormat format = format_of(4, numerics::Granularity::kGroup, 16);
    format.system = &numerics::find_system(system);
    const MatrixFit fit = fit_weights(layer.view(), format, layer.statistics, {});
    fit.encoding.check(37, 330);
    const numerics::MatrixEncoding by_rule = numerics::encoding_by_rule(
        *format.system, 4, {format.granularity, format.group_size}, layer.view());
    MatrixFit rule;
    rule.encoding = by_rule;
    rule.codes = numerics::encode(layer.view(), by_rule);
    rule.bias_correction = mean_output_error(
        layer.view(),
        {std::span<const float>(numerics::decode(rule.codes, by_rule)), layer.rows, layer.cols},
        layer.statistics);
    MatrixFitOptions options;
    options.refine = false;
    const MatrixFit two = fit_weights(layer.view(), format, layer.statistics, options);
    EXPECT_LT(layer.output_error(two), layer.output_error(rule));
    EXPECT_LT(layer.output_error(fit), 0.9 * layer.output_error(two));
    expect_same(fit_weights(layer.view(), format, layer.statistics, {}, spmd::Devices::emulate(7)),
                fit);
  }
}

TEST(FitWeights, ReproducesAConstantLayer) {
  LayerCase layer(3, 20, 6);
  std::ranges::fill(layer.weights, 0.5F);
  const MatrixFit fit = fit_weights(layer.view(), format_of(2), layer.statistics, only_step_one());
  for (const float weight : numerics::decode(fit.codes, fit.encoding)) {
    EXPECT_NEAR(weight, 0.5, 1e-3);
  }
}

TEST(FitWeights, TakesALayerWhoseInputsAreAlwaysZero) {
  const LayerCase layer(3, 20, 7);
  const std::vector<float> zeros(10 * 20, 0.0F);
  LayerStatistics::Builder statistics(20);
  statistics.add({std::span<const float>(zeros), 10, 20}, {std::span<const float>(zeros), 10, 20});
  const MatrixFit fit = fit_weights(layer.view(), format_of(3), statistics.finish(), {});
  numerics::Distortion distortion;
  distortion.add(layer.weights, numerics::decode(fit.codes, fit.encoding));
  EXPECT_GT(distortion.sqnr_db(), 10)
      << "without a word from the data the weights themselves count";
}

TEST(FitWeights, TakesOneOutputAndOneInput) {
  const LayerCase layer(1, 1, 8);
  const MatrixFit fit = fit_weights(layer.view(), format_of(2), layer.statistics, {});
  EXPECT_NEAR(numerics::decode(fit.codes, fit.encoding)[0], layer.weights[0], 0.3);
}

TEST(FitWeights, RefusesStatisticsOfAnotherLayer) {
  const LayerCase layer(2, 8, 9);
  expect_error(ErrorKind::kShape, "expected 8 inputs, found 9",
               [&] { fit_weights(layer.view(), format_of(2), LayerStatistics(9), {}); });
}

}  // namespace
}  // namespace halftone::compress
