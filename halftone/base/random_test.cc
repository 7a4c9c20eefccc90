// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/random.h"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

namespace halftone {
namespace {

// The published sequence of SplitMix64 for seed 1234567.
TEST(Random, MatchesThePublishedSequence) {
  Random random(1234567);
  for (const std::uint64_t expected :
       {std::uint64_t{6457827717110365317u}, std::uint64_t{3203168211198807973u},
        std::uint64_t{9817491932198370423u}, std::uint64_t{4593380528125082431u},
        std::uint64_t{16408922859458223821u}}) {
    EXPECT_EQ(random.next(), expected);
  }
}

// below(b) is floor(next * b / 2^64); for powers of two that is a shift.
TEST(Random, BelowIsTheHighWordOfTheProduct) {
  for (int shift = 1; shift < 64; ++shift) {
    Random bounded(7);
    Random raw(7);
    for (int i = 0; i < 20; ++i) {
      ASSERT_EQ(bounded.below(std::uint64_t{1} << shift), raw.next() >> (64 - shift)) << shift;
    }
  }
  Random bounded(7);
  Random raw(7);
  for (int i = 0; i < 100; ++i) {
    const std::uint64_t value = raw.next();
    // x * (2^64 - 1) / 2^64 = x - x / 2^64: one less than x, unless x is 0.
    ASSERT_EQ(bounded.below(std::numeric_limits<std::uint64_t>::max()), value - 1);
  }
}

TEST(Random, BelowReachesEveryValueAboutEquallyOften) {
  Random random(1);
  std::array<int, 7> counts{};
  for (int i = 0; i < 70000; ++i) ++counts.at(random.below(7));
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
}

TEST(Random, UniformStaysInRangeWithTheRightMoments) {
  Random random(2);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double u = random.uniform();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / 100000, 1.0 / 2, 0.005);
  EXPECT_NEAR(squares / 100000, 1.0 / 3, 0.005);
}

TEST(Random, NormalHasTheRightMoments) {
  Random random(3);
  double sum = 0;
  double squares = 0;
  double fourth = 0;
  for (int i = 0; i < 100000; ++i) {
    const double x = random.normal();
    ASSERT_TRUE(std::isfinite(x));
    sum += x;
    squares += x * x;
    fourth += x * x * x * x;
  }
  EXPECT_NEAR(sum / 100000, 0, 0.02);
  EXPECT_NEAR(squares / 100000, 1, 0.03);
  EXPECT_NEAR(fourth / 100000, 3, 0.15);
}

}  // namespace
}  // namespace halftone
