// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halftone/base/random.h"
#include "halftone/numerics/integer_grid.h"

namespace halftone::numerics {
namespace {

constexpr std::int32_t kMaxInt32 = std::numeric_limits<std::int32_t>::max();
constexpr std::int32_t kLeastInt32 = std::numeric_limits<std::int32_t>::min();

double value_of(FixedMultiplier m) { return std::ldexp(m.mantissa, m.shift - 31); }

TEST(FixedMultiplier, HoldsPowersOfTwoExactly) {
  EXPECT_EQ(fixed_multiplier(0.5), (FixedMultiplier{1 << 30, 0}));
  EXPECT_EQ(fixed_multiplier(1), (FixedMultiplier{1 << 30, 1}));
  EXPECT_EQ(fixed_multiplier(0x1p-32), (FixedMultiplier{1 << 30, -31}));
}

TEST(FixedMultiplier, OfLittleIsNothing) {
  for (const double m : {0.0, 1e-300, std::nextafter(0x1p-32, 0)}) {
    EXPECT_EQ(fixed_multiplier(m), FixedMultiplier{});
  }
  EXPECT_EQ(multiply(kMaxInt32, FixedMultiplier{}), 0);
  EXPECT_EQ(multiply(kLeastInt32, divided(FixedMultiplier{}, 49)), 0);
}

TEST(FixedMultiplier, CarriesARoundedMantissaIntoTheShift) {
  EXPECT_EQ(fixed_multiplier(std::nextafter(0.25, 0)), (FixedMultiplier{1 << 30, -1}));
}

TEST(FixedMultiplier, IsWithinHalfABitOfItsMantissa) {
  Random random(31);
  for (int i = 0; i < 1000; ++i) {
    const double m = std::ldexp(1 + random.uniform(), static_cast<int>(random.uniform() * 60) - 31);
    const FixedMultiplier fixed = fixed_multiplier(m);
    EXPECT_GE(fixed.mantissa, 1 << 30);
    EXPECT_LE(std::abs(value_of(fixed) - m), std::ldexp(0.5, fixed.shift - 31)) << m;
  }
}

TEST(FixedMultiplier, IsDividedByACountWithoutRounding) {
  const FixedMultiplier m = fixed_multiplier(0.7);
  EXPECT_EQ(divided(m, 1), m);
  EXPECT_EQ(divided(m, 64), (FixedMultiplier{m.mantissa, m.shift - 6}));
  // 49 = 2^5 1.53: the mantissa shrinks.
  const auto cut = static_cast<std::int32_t>((std::int64_t{m.mantissa} << 5) / 49);
  EXPECT_EQ(divided(m, 49), (FixedMultiplier{cut, m.shift - 5}));
  EXPECT_EQ(divided({1 << 30, -30}, 49).shift, -31);
}

TEST(FixedMultiplier, ShiftsToTheNearestTiesAwayFromZero) {
  EXPECT_EQ(shifted_right(5, 1), 3);
  EXPECT_EQ(shifted_right(-5, 1), -3);
  EXPECT_EQ(shifted_right(5, 2), 1);
  EXPECT_EQ(shifted_right(-7, 2), -2);
  for (const std::int32_t x : {0, 1, -1, kMaxInt32, kLeastInt32}) {
    EXPECT_EQ(shifted_right(x, 0), x);
    for (std::int32_t bits = 1; bits < 32; ++bits) {
      EXPECT_EQ(shifted_right(x, bits), std::round(std::ldexp(x, -bits))) << x << " >> " << bits;
    }
  }
}

// 3 * 0.75 = 2.25 becomes 2. For 3 * 0.375 = 1.125 the first step rounds 2.25 to 2, and half of
// that is 1.
TEST(FixedMultiplier, RoundsProductsTwice) {
  EXPECT_EQ(multiply(3, fixed_multiplier(0.75)), 2);
  EXPECT_EQ(multiply(3, fixed_multiplier(0.375)), 1);
  // 5 * 0.3 = 1.5 - 1.4e-10 by 31 bits: 5 * 0.6 = 3 first, and the half of it away from zero.
  EXPECT_EQ(multiply(5, fixed_multiplier(0.3)), 2);
  EXPECT_EQ(multiply(-5, fixed_multiplier(0.3)), -2);
  EXPECT_EQ(multiply(3, fixed_multiplier(5)), 15);
  EXPECT_EQ(multiply(0, fixed_multiplier(5)), 0);
}

TEST(FixedMultiplier, StaysNearTheExactProduct) {
  Random random(32);
  for (int i = 0; i < 10000; ++i) {
    const auto x = static_cast<std::int32_t>((random.uniform() - 0.5) * 2e9);
    const double m =
        std::ldexp(0.5 + random.uniform() / 2, -static_cast<int>(random.uniform() * 25));
    // The last rounding costs half a step, the first at most a quarter; then the mantissa's error.
    EXPECT_NEAR(multiply(x, fixed_multiplier(m)), x * m, 1.26) << x << " " << m;
  }
}

}  // namespace
}  // namespace halftone::numerics
