// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/half.h"

#include <gtest/gtest.h>

#include <array>
#include <bit>
#include <cmath>
#include <limits>

#include "halftone/base/testing.h"

namespace halftone {
namespace {

TEST(Half, EveryPatternSurvivesARoundTrip) {
  for (unsigned pattern = 0; pattern <= 0xffff; ++pattern) {
    const auto half = static_cast<std::uint16_t>(pattern);
    const float x = float_from_half(half);
    const bool is_nan = (half & 0x7c00) == 0x7c00 && (half & 0x3ff) != 0;
    ASSERT_EQ(std::isnan(x), is_nan) << pattern;
    if (is_nan) {
      ASSERT_TRUE(std::isnan(float_from_half(half_from_float(x)))) << pattern;
    } else {
      ASSERT_EQ(half_from_float(x), half) << pattern;
    }
  }
}

TEST(Half, DecodesByTheDefinition) {
  for (unsigned pattern = 0; pattern < 0x7c00; ++pattern) {
    const int exponent = static_cast<int>(pattern >> 10);
    const double mantissa = pattern & 0x3ff;
    const double expected =
        exponent == 0 ? std::ldexp(mantissa, -24) : std::ldexp(1024 + mantissa, exponent - 25);
    ASSERT_EQ(float_from_half(static_cast<std::uint16_t>(pattern)), expected) << pattern;
  }
}

// Between neighbours h and h + 1 the midpoint goes to the even one, anything else to the nearer.
TEST(Half, RoundsToNearestTiesToEven) {
  for (unsigned pattern = 0; pattern < 0x7bff; ++pattern) {
    const auto low = static_cast<std::uint16_t>(pattern);
    const auto high = static_cast<std::uint16_t>(pattern + 1);
    const float middle = (float_from_half(low) + float_from_half(high)) / 2;
    const std::uint16_t even = pattern % 2 == 0 ? low : high;
    ASSERT_EQ(half_from_float(middle), even) << pattern;
    ASSERT_EQ(half_from_float(-middle), even | 0x8000) << pattern;
    ASSERT_EQ(half_from_float(std::nextafter(middle, 0.0F)), low) << pattern;
    ASSERT_EQ(half_from_float(std::nextafter(middle, kInfinity)), high) << pattern;
  }
}

TEST(Half, OverflowBecomesInfinityAndUnderflowSignedZero) {
  EXPECT_EQ(half_from_float(65504.0F), 0x7bff);
  EXPECT_EQ(half_from_float(std::nextafter(65520.0F, 0.0F)), 0x7bff);
  EXPECT_EQ(half_from_float(65520.0F), 0x7c00);
  EXPECT_EQ(half_from_float(-std::numeric_limits<float>::max()), 0xfc00);
  EXPECT_EQ(half_from_float(-kInfinity), 0xfc00);
  EXPECT_EQ(half_from_float(-0.0F), 0x8000);
  EXPECT_EQ(half_from_float(-std::numeric_limits<float>::denorm_min()), 0x8000);
}

TEST(Half, ListsAreExactOnlyWhereEveryNumberIs) {
  const std::array exact = {0.5F, -0.0F, -1024.0F};
  EXPECT_EQ(exact_halves(exact), (std::vector<std::uint16_t>{0x3800, 0x8000, 0xe400}));
  const std::array inexact = {0.5F, 0.1F};
  EXPECT_EQ(exact_halves(inexact), std::nullopt);
  const std::array too_large = {65536.0F};
  EXPECT_EQ(exact_halves(too_large), std::nullopt);
  EXPECT_TRUE(exact_halves({}).has_value());
}

TEST(Bfloat16, IsTheUpperHalfOfAFloat) {
  EXPECT_EQ(float_from_bfloat16(0x3f80), 1.0F);
  EXPECT_EQ(float_from_bfloat16(0xc049), -3.140625F);
  EXPECT_EQ(float_from_bfloat16(0x7f80), kInfinity);
}

TEST(Bfloat16, EveryPatternSurvivesARoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const float x = float_from_bfloat16(static_cast<std::uint16_t>(bits));
    const std::uint16_t found = bfloat16_from_float(x);
    if (std::isnan(x)) {
      EXPECT_TRUE(std::isnan(float_from_bfloat16(found)));
    } else {
      EXPECT_EQ(found, bits);
    }
  }
}

TEST(Bfloat16, RoundsToNearestTiesToEven) {
  EXPECT_EQ(bfloat16_from_float(1 + 0x1p-8F), 0x3f80);             // a tie
  EXPECT_EQ(bfloat16_from_float(1 + 0x1p-8F + 0x1p-23F), 0x3f81);  // just above
  EXPECT_EQ(bfloat16_from_float(1 + 0x1.8p-7F), 0x3f82);           // a tie
  EXPECT_EQ(bfloat16_from_float(std::numeric_limits<float>::max()), 0x7f80);
  EXPECT_TRUE(
      std::isnan(float_from_bfloat16(bfloat16_from_float(std::bit_cast<float>(0x7f800001)))));
}

}  // namespace
}  // namespace halftone
