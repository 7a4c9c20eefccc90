// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/fit/glitches.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halftone/base/random.h"

namespace halftone::compress {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Mean squares of samples of `width` numbers N(0, 1).
std::vector<float> normal_sizes(std::size_t samples, std::size_t width, std::uint64_t seed) {
  Random random(seed);
  std::vector<float> sizes;
  for (std::size_t i = 0; i < samples; ++i) {
    double sum = 0;
    for (std::size_t j = 0; j < width; ++j) {
      const double x = random.normal();
      sum += x * x;
    }
    sizes.push_back(static_cast<float>(sum / static_cast<double>(width)));
  }
  return sizes;
}

TEST(Glitches, AreFoundAmongManyAndFewSamples) {
  for (const std::size_t samples : {8U, 20U, 512U}) {
    std::vector<float> sizes = normal_sizes(samples, 16, 1);
    sizes[7] = 1e6F / 16;
    EXPECT_THAT(glitches(sizes), ElementsAre(7)) << samples;
  }
  std::vector<float> sizes = normal_sizes(512, 16, 2);
  sizes[3] = sizes[9] = sizes[500] = 1e7F;
  EXPECT_THAT(glitches(sizes), ElementsAre(3, 9, 500));
}

TEST(Glitches, AreInfiniteToo) {
  std::vector<float> sizes = normal_sizes(100, 4, 3);
  sizes[4] = std::numeric_limits<float>::infinity();
  sizes[5] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(glitches(sizes), ElementsAre(4, 5));
}

// Squares of one normal number, of log-normal ones (sounds) and of few large ones (events).
TEST(Glitches, AreNotWhatOrdinaryDataHas) {
  for (const std::size_t width : {1U, 2U, 16U, 784U}) {
    EXPECT_THAT(glitches(normal_sizes(5000, width, width)), IsEmpty()) << width;
  }
  Random random(5);
  for (const double sigma : {0.5, 1.0, 2.0, 4.0}) {
    std::vector<float> sizes;
    for (int i = 0; i < 5000; ++i)
      sizes.push_back(static_cast<float>(std::exp(sigma * random.normal())));
    EXPECT_THAT(glitches(sizes), IsEmpty()) << sigma;
  }
  std::vector<float> events = normal_sizes(200, 16, 6);
  for (std::size_t i = 0; i < events.size(); i += 15) events[i] = 1e4F;
  EXPECT_THAT(glitches(events), IsEmpty()) << "one in fifteen is no glitch";
}

TEST(Glitches, NeedOthersToCompareWith) {
  EXPECT_THAT(glitches(std::vector<float>{1, 1, 1, 1, 1, 1, 1e9F}), IsEmpty());
  EXPECT_THAT(glitches(std::vector<float>(20, 0)), IsEmpty());
  EXPECT_THAT(glitches({}), IsEmpty());
}

}  // namespace
}  // namespace halftone::compress
