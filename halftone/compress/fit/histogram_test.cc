// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/histogram.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <span>

#include "halftone/base/random.h"
#include "halftone/spmd/testing.h"

namespace halftone::compress {
namespace {

/// Values of both signs and many magnitudes, and zeros.
std::vector<float> wild_values(std::size_t count, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> values(count);
  for (float& x : values) {
    const int exponent = static_cast<int>(random.below(30)) - 25;
    x = random.below(10) == 0 ? 0 : std::ldexp(static_cast<float>(random.normal()), exponent);
  }
  return values;
}

Histogram histogram_of(std::span<const float> values) {
  Histogram histogram;
  histogram.add(values);
  return histogram;
}

TEST(Histogram, CountsByTheDefinition) {
  const std::vector<float> values = wild_values(5000, 1);
  const Histogram histogram = histogram_of(values);
  const auto [low, high] = std::ranges::minmax(values);
  EXPECT_EQ(histogram.range().low, low);
  EXPECT_EQ(histogram.range().high, high);
  EXPECT_EQ(histogram.count(), 5000);
  EXPECT_EQ(histogram.num_zeros(), std::ranges::count(values, 0.0F));
  const double largest = std::max(-low, high);
  const double width = histogram.bin_width();
  EXPECT_LT(largest, 2048 * width);
  EXPECT_GE(largest, 1024 * width);
  std::vector<std::int64_t> negatives(2048);
  std::vector<std::int64_t> positives(2048);
  for (const float x : values) {
    const auto bin = static_cast<std::size_t>(std::floor(std::abs(double{x}) / width));
    if (x < 0) ++negatives[bin];
    if (x > 0) ++positives[bin];
  }
  EXPECT_THAT(histogram.negatives(), testing::ElementsAreArray(negatives));
  EXPECT_THAT(histogram.positives(), testing::ElementsAreArray(positives));
  const std::vector<std::int64_t> magnitudes = histogram.magnitudes();
  EXPECT_EQ(magnitudes[0], negatives[0] + positives[0] + histogram.num_zeros());
  EXPECT_EQ(magnitudes[100], negatives[100] + positives[100]);
  EXPECT_GT(magnitudes.back(), 0);
  EXPECT_EQ(std::accumulate(magnitudes.begin(), magnitudes.end(), std::int64_t{0}), 5000);
}

TEST(Histogram, DoesNotDependOnTheOrderOfBatches) {
  const std::vector<float> values = wild_values(3000, 2);
  const Histogram whole = histogram_of(values);
  for (std::uint64_t seed = 0; seed < 5; ++seed) {
    std::vector<float> shuffled = values;
    Random random(seed);
    for (std::size_t i = shuffled.size(); i > 1; --i) {
      std::swap(shuffled[i - 1], shuffled[static_cast<std::size_t>(random.below(i))]);
    }
    // Some batches join one histogram, others a second one, which is added at the end.
    std::array<Histogram, 2> parts;
    for (std::size_t at = 0; at < shuffled.size();) {
      const std::size_t count = std::min<std::size_t>(1 + random.below(40), shuffled.size() - at);
      parts[random.below(2)].add(std::span(shuffled).subspan(at, count));
      at += count;
    }
    parts[0].add(parts[1]);
    EXPECT_TRUE(parts[0] == whole) << seed;
  }
}

TEST(Histogram, HoldsTheSmallestAndTheLargestFloats) {
  constexpr float kLargest = std::numeric_limits<float>::max();
  constexpr float kSmallest = std::numeric_limits<float>::denorm_min();
  Histogram histogram = histogram_of(std::vector{-kSmallest});
  EXPECT_EQ(histogram.negatives()[1024], 1);
  EXPECT_EQ(histogram.bin_width(), 0x1p-159);
  EXPECT_EQ(histogram.magnitudes().size(), 1025u);
  histogram.add(std::vector{kLargest});
  EXPECT_EQ(histogram.negatives()[0], 1);
  EXPECT_EQ(histogram.positives()[2047], 1);
}

TEST(Histogram, KnowsWhenItIsEmptyOrZero) {
  Histogram histogram;
  EXPECT_EQ(histogram.count(), 0);
  EXPECT_TRUE(histogram.range().is_empty());
  histogram.add(std::vector{0.0F, -0.0F});
  EXPECT_EQ(histogram.num_zeros(), 2);
  EXPECT_TRUE(histogram.magnitudes().empty());
  histogram.add(Histogram());
  EXPECT_EQ(histogram.count(), 2);
}

TEST(Histogram, IsSummedOverRanks) {
  const std::vector<float> first = wild_values(2000, 3);
  const std::vector<float> second = wild_values(2000, 4);
  const auto on_rank = [&](const std::shared_ptr<spmd::Transport>& transport) {
    const spmd::Devices devices = spmd::Devices::over(transport, 2);
    const auto part = [&](std::span<const float> values) {
      const std::size_t each = values.size() / 4;  // rank 2 has two of four parts
      return values.subspan(devices.rank() * each, devices.rank() == 2 ? 2 * each : each);
    };
    return sum_over_ranks({histogram_of(part(first)), histogram_of(part(second))}, devices);
  };
  for (const std::vector<Histogram>& each : spmd::LocalRanks(3).run(on_rank)) {
    ASSERT_EQ(each.size(), 2u);
    EXPECT_TRUE(each[0] == histogram_of(first));
    EXPECT_TRUE(each[1] == histogram_of(second));
  }
}

}  // namespace
}  // namespace halftone::compress
