// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/range.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/compress/fit/testing.h"

namespace halftone::compress {
namespace {

using numerics::ValueRange;
using Counts = std::vector<std::int64_t>;

std::vector<float> drawn(std::size_t count, const std::function<double(Random&)>& draw) {
  Random random(7);
  std::vector<float> values(count);
  for (float& x : values) x = static_cast<float>(draw(random));
  return values;
}

/// Normally distributed, with rare values up to 20 times as large.
std::vector<float> heavy_tails(std::size_t count) {
  return drawn(count,
               [](Random& random) { return random.normal() * (random.below(2000) == 0 ? 20 : 1); });
}

ValueStatistics statistics_of(const std::vector<float>& values, const ValueRange& average = {}) {
  ValueStatistics statistics;
  statistics.values.add(values);
  statistics.average = average;
  return statistics;
}

RangeOptions options_of(Calibrator calibrator, double percentile = 99.99) {
  return {calibrator, percentile, 0.99};
}

/// The algorithm of pages 37 to 39 of the talk, loop by loop: the bins of a candidate are copied,
/// merged, expanded, normalised and compared. Gives the number of bins i, not yet a threshold.
std::size_t published_entropy_bins(const Counts& bin, std::size_t levels) {
  double least = std::numeric_limits<double>::infinity();
  std::size_t best = bin.size();
  for (std::size_t i = levels; i <= bin.size(); ++i) {
    std::vector<double> reference(bin.begin(), bin.begin() + static_cast<std::ptrdiff_t>(i));
    for (std::size_t b = i; b < bin.size(); ++b) reference[i - 1] += static_cast<double>(bin[b]);
    std::vector<double> sums(levels);
    std::vector<double> num_nonzero(levels);
    for (std::size_t b = 0; b < i; ++b) {
      sums[b * levels / i] += static_cast<double>(bin[b]);
      num_nonzero[b * levels / i] += reference[b] != 0 ? 1 : 0;
    }
    std::vector<double> candidate(i);
    for (std::size_t b = 0; b < i; ++b) {
      const std::size_t level = b * levels / i;
      if (reference[b] != 0) candidate[b] = sums[level] / num_nonzero[level];
    }
    double p_sum = 0;
    double q_sum = 0;
    for (std::size_t b = 0; b < i; ++b) {
      p_sum += reference[b];
      q_sum += candidate[b];
    }
    double divergence = 0;
    for (std::size_t b = 0; b < i; ++b) {
      const double p = reference[b] / p_sum;
      if (p != 0) divergence += p * std::log(p / (candidate[b] / q_sum));
    }
    if (divergence < least) {
      least = divergence;
      best = i;
    }
  }
  return best;
}

TEST(KlThreshold, IsThatOfThePublishedAlgorithm) {
  const auto histogram_of = [](const std::function<double(Random&)>& draw) {
    return statistics_of(drawn(100000, draw)).values.magnitudes();
  };
  const std::vector<Counts> histograms = {
      statistics_of(heavy_tails(200000)).values.magnitudes(),
      histogram_of([](Random& random) { return random.normal(); }),
      histogram_of([](Random& random) { return std::max(0.0, random.normal()); }),
      histogram_of([](Random& random) { return random.uniform(); }),
      histogram_of([](Random& random) { return -std::log(1 - random.uniform()); }),
      histogram_of([](Random& random) { return std::exp(2 * random.normal()); }),
      histogram_of([](Random& random) { return std::floor(10 * random.uniform()); }),
      Counts{5, 0, 0, 3, 1}};
  for (std::size_t h = 0; h < histograms.size(); ++h) {
    for (const std::size_t levels : {128U, 8U, 2U, 1U}) {
      if (levels > histograms[h].size()) continue;
      const auto bins = static_cast<double>(published_entropy_bins(histograms[h], levels));
      EXPECT_EQ(kl_threshold(histograms[h], 0.25, levels), (bins + 0.5) * 0.25)
          << "histogram " << h << ", levels " << levels;
    }
  }
}

TEST(KlThreshold, IsTheLastBinWhereThereAreFewerBinsThanLevels) {
  EXPECT_EQ(kl_threshold(Counts{5, 0, 3}, 2, 128), 7);
  EXPECT_THAT(kl_divergences(Counts{5, 0, 3}, 128), testing::ElementsAre(0));
}

TEST(KlDivergences, FollowTheExampleOfTheTalk) {
  // P = (1, 0, 2, 3, 5, 3, 1, 7) in two levels: Q = (2, 0, 2, 2, 4, 4, 4, 4).
  const Counts bins{1, 0, 2, 3, 5, 3, 1, 7};
  const std::vector<double> q{2, 0, 2, 2, 4, 4, 4, 4};
  double expected = 0;
  for (std::size_t b = 0; b < bins.size(); ++b) {
    const auto p = static_cast<double>(bins[b]);
    if (p > 0) expected += p / 22 * std::log(p / q[b]);
  }
  const std::vector<double> found = kl_divergences(bins, 2);
  ASSERT_EQ(found.size(), 7u);
  EXPECT_NEAR(found.back(), expected, 1e-14);
  // After 2 bins, outliers stand in the second, whose own count is 0.
  EXPECT_EQ(found.front(), std::numeric_limits<double>::infinity());
}

TEST(RangeOf, CoversAllValuesWithMinMaxAndTheAveragesOfBatches) {
  const ValueStatistics statistics = statistics_of({-3, 0, 1, 7}, {-2.5F, 6});
  const ParameterSpace space = space_of("affine", 8);
  const ValueRange all = range_of(statistics, options_of(Calibrator::kMinMax), space);
  EXPECT_EQ(all.low, -3);
  EXPECT_EQ(all.high, 7);
  const ValueRange average = range_of(statistics, options_of(Calibrator::kMovingAverage), space);
  EXPECT_EQ(average.low, -2.5F);
  EXPECT_EQ(average.high, 6);
}

TEST(RangeOf, CutsOffAShareOfTheValuesAtBothEnds) {
  std::vector<float> values;
  for (int i = -500; i < 500; ++i) values.push_back(static_cast<float>(i) / 100);
  const ValueStatistics statistics = statistics_of(values);
  const ParameterSpace space = space_of("affine", 8);
  const double width = statistics.values.bin_width();
  const ValueRange range = range_of(statistics, options_of(Calibrator::kPercentile, 90), space);
  // 50 values are cut off at each end.
  EXPECT_NEAR(range.low, -4.5, width);
  EXPECT_NEAR(range.high, 4.49, width);
  EXPECT_LE(range.low, -4.5F);
  EXPECT_GE(range.high, 4.49F);
  const ValueRange all = range_of(statistics, options_of(Calibrator::kPercentile, 100), space);
  EXPECT_EQ(all.low, -5);
  EXPECT_EQ(all.high, 4.99F);
}

TEST(RangeOf, KeepsZeroAsTheLowEndOfRectifiedValues) {
  const std::vector<float> values =
      drawn(10000, [](Random& random) { return std::max(0.0, random.normal()); });
  for (const Calibrator calibrator :
       {Calibrator::kMinMax, Calibrator::kPercentile, Calibrator::kMse, Calibrator::kKl}) {
    const ValueRange range =
        range_of(statistics_of(values), options_of(calibrator), space_of("affine", 8));
    EXPECT_EQ(range.low, 0) << to_string(calibrator);
    EXPECT_GT(range.high, 1) << to_string(calibrator);
  }
}

TEST(RangeOf, DoesNotLetZerosOutweighOtherValuesWithKl) {
  const std::vector<float> values =
      drawn(50000, [](Random& random) { return -std::log(1 - random.uniform()); });
  std::vector<float> with_zeros = values;
  with_zeros.resize(500000);
  const RangeOptions kl = options_of(Calibrator::kKl);
  const auto threshold = [&](const std::vector<float>& of, const char* system) {
    return range_of(statistics_of(of), kl, space_of(system, 8)).high;
  };
  EXPECT_EQ(threshold(with_zeros, "affine"), threshold(values, "affine"));
  // A system with an offset has all its levels for values above zero.
  Counts bins = statistics_of(values).values.magnitudes();
  bins[0] = bins[1];
  const double width = statistics_of(values).values.bin_width();
  const float largest = statistics_of(values).values.range().high;
  const auto expected = [&](std::size_t levels) {
    return std::min(static_cast<float>(kl_threshold(bins, width, levels)), largest);
  };
  EXPECT_EQ(threshold(values, "affine"), expected(256));
  EXPECT_EQ(threshold(values, "int"), expected(128));
}

double mean_squared_error(const numerics::Levels& levels, const std::vector<float>& values) {
  const numerics::LevelTable table(levels);
  double error = 0;
  for (const float x : values) error += std::pow(double{x} - double{table.nearest(x)}, 2);
  return error / static_cast<double>(values.size());
}

TEST(RangeOf, FindsTheThresholdOfTheLeastSquaredError) {
  const std::vector<float> values = heavy_tails(20000);
  const ValueStatistics statistics = statistics_of(values);
  for (const char* system : {"affine", "int", "e2m1", "basis"}) {
    const ParameterSpace space = space_of(system, 4);
    const ValueRange range = range_of(statistics, options_of(Calibrator::kMse), space);
    const double found = mean_squared_error(levels_over(space, range), values);
    // No threshold on a coarse grid is better, up to the error of the middles of bins.
    for (double part = 0.02; part <= 1; part += 0.02) {
      const float threshold = static_cast<float>(part) * statistics.values.range().magnitude();
      const ValueRange other{std::max(-threshold, statistics.values.range().low),
                             std::min(threshold, statistics.values.range().high)};
      EXPECT_LE(found, 1.001 * mean_squared_error(levels_over(space, other), values))
          << system << " " << part;
    }
  }
}

TEST(RangeOf, CutsOffOutliersInFewBitsOnly) {
  const ValueStatistics statistics = statistics_of(heavy_tails(100000));
  const float all = statistics.values.range().magnitude();
  for (const Calibrator calibrator : {Calibrator::kMse, Calibrator::kKl}) {
    const auto threshold = [&](int bits) {
      return range_of(statistics, options_of(calibrator), space_of("int", bits)).magnitude();
    };
    EXPECT_LT(threshold(3), 0.25F * all) << to_string(calibrator);
    EXPECT_LE(threshold(3), threshold(8)) << to_string(calibrator);
  }
}

TEST(RangeOf, NeedsValuesAndARange) {
  const ParameterSpace space = space_of("affine", 8);
  expect_error(ErrorKind::kUsage, "calibrator kl: there are no values",
               [&] { range_of({}, options_of(Calibrator::kKl), space); });
  std::vector<float> values(10000, 0.0F);
  values[77] = 5;
  expect_error(
      ErrorKind::kUsage,
      "calibrator percentile: the range has the single value 0 of values from 0 to 5; "
      "use another calibrator, such as fit or min-max",
      [&] { range_of(statistics_of(values), options_of(Calibrator::kPercentile, 90), space); });
  for (const Calibrator calibrator : {Calibrator::kMinMax, Calibrator::kMse, Calibrator::kKl}) {
    const ValueRange range = range_of(statistics_of(values), options_of(calibrator), space);
    EXPECT_EQ(range.high, 5) << to_string(calibrator);
  }
}

TEST(MovingAverageWeight, GivesTheRecursion) {
  Random random(3);
  for (const std::size_t n : {1U, 2U, 7U, 100U}) {
    double average = 0;
    double sum = 0;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = random.normal();
      average = i == 0 ? x : 0.9 * average + 0.1 * x;
      sum += moving_average_weight(i, n, 0.9) * x;
    }
    EXPECT_NEAR(sum, average, 1e-14) << n;
  }
  EXPECT_EQ(moving_average_weight(0, 3, 0), 0);
  EXPECT_EQ(moving_average_weight(2, 3, 0), 1);
  EXPECT_EQ(moving_average_weight(0, 3, 1), 1);
}

TEST(CalibratorNames, AreReadAndWritten) {
  for (const char* name : {"fit", "min-max", "moving-average", "percentile", "mse", "kl"}) {
    EXPECT_EQ(to_string(calibrator_named(name)), name);
  }
  expect_error(ErrorKind::kUsage,
               "calibrator: expected one of fit, min-max, moving-average, percentile, mse, kl, "
               "found 'entropy'",
               [] { calibrator_named("entropy"); });
}

TEST(LevelsOver, ReachBothEndsInEverySystem) {
  const ValueRange range{-1.5F, 6.25F};
  for (const numerics::NumberSystem& system : numerics::number_systems()) {
    const bool is_fitted = system.rule != numerics::ScaleRule::kUnit && system.min_bits <= 8 &&
                           system.blocks.granularity != numerics::Granularity::kGroup;
    if (!is_fitted) continue;
    const int bits = std::min(8, system.max_bits);
    const numerics::LevelTable table(levels_over(space_of(system.name, bits), range));
    // A scale is rounded to as few as four significant bits where it is a number of 8 bits.
    const float slack = 0.07F * range.magnitude();
    EXPECT_GE(table.levels().back(), range.high - slack) << system.name;
    EXPECT_LE(table.levels().front(), std::max(range.low, -range.high) + slack) << system.name;
  }
}

TEST(LevelsOver, AreExactWhereTheRangeDividesEvenly) {
  const ValueRange range{-1, 14};
  const std::vector<float> expected = {-1, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14};
  for (const char* system : {"affine", "basis"}) {
    const numerics::LevelTable table(levels_over(space_of(system, 4), range));
    EXPECT_THAT(table.levels(), testing::ElementsAreArray(expected)) << system;
  }
  const numerics::LevelTable centred(levels_over(space_of("basis", 2, false), {-1, 6}));
  EXPECT_THAT(centred.levels(), testing::ElementsAre(-6, -2, 2, 6));
  const numerics::LevelTable whole(levels_over(space_of("int", 4), {-8, 3}));
  EXPECT_EQ(whole.levels().front(), -8);
  EXPECT_EQ(whole.levels().size(), 16u);
}

TEST(LevelsOver, RoundsPowersOfTwoUpAndLeavesRoomForOverflow) {
  const numerics::Levels levels = levels_over(space_of("fixed", 8), {-1, 100.5F});
  EXPECT_EQ(levels.scale(), 1);
  EXPECT_EQ(levels_over(space_of("fixed", 8), {-1, 127}).scale(), 1);
  EXPECT_EQ(levels_over(space_of("fixed", 8), {-1, 127.5F}).scale(), 2);
  WeightFormat format;
  format.system = &numerics::find_system("e4m3_nan");
  format.bits = 8;
  format.granularity = numerics::Granularity::kTensor;
  const ParameterSpace space = ParameterSpace::of(empty_encoding(format, 1, 1));
  EXPECT_EQ(levels_over(space, {-7, 7}).scale(), 14.0F / 448);
}

}  // namespace
}  // namespace halftone::compress
