// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/minifloat.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "halftone/base/half.h"
#include "halftone/base/testing.h"

namespace halftone::numerics {
namespace {

constexpr std::array kSmall{kE4M3, kE5M2, kE4M3Fnuz, kE5M2Fnuz, kE3M2, kE2M3, kE2M1};
constexpr std::array kAll{kE4M3, kE5M2, kE4M3Fnuz, kE5M2Fnuz, kE3M2,
                          kE2M3, kE2M1, kBinary16, kE8M7};

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint32_t num_codes(const Minifloat& system) { return std::uint32_t{1} << system.bits(); }

/// All finite numbers >= 0, ascending: number i has code i.
std::vector<float> magnitudes(const Minifloat& system) {
  std::vector<float> numbers;
  for (std::uint32_t code = 0; code < num_codes(system) / 2; ++code) {
    if (std::isfinite(decode(system, code))) numbers.push_back(decode(system, code));
  }
  return numbers;
}

TEST(Minifloat, HasThePublishedRanges) {
  struct Range {
    Minifloat system;
    float largest;
    float smallest_normal;
    float smallest_subnormal;
  };
  // OFP8 1.0; MX 1.0, section 5.3; IEEE 754.
  for (const Range& range :
       {Range{kE4M3, 448, 0x1p-6F, 0x1p-9F}, Range{kE5M2, 57344, 0x1p-14F, 0x1p-16F},
        Range{kE4M3Fnuz, 240, 0x1p-7F, 0x1p-10F}, Range{kE5M2Fnuz, 57344, 0x1p-15F, 0x1p-17F},
        Range{kE3M2, 28, 0.25F, 0.0625F}, Range{kE2M3, 7.5F, 1, 0.125F}, Range{kE2M1, 6, 1, 0.5F},
        Range{kBinary16, 65504, 0x1p-14F, 0x1p-24F},
        Range{kE8M7, 0x1.fep127F, 0x1p-126F, 0x1p-133F}}) {
    EXPECT_EQ(largest(range.system), range.largest);
    EXPECT_EQ(smallest_normal(range.system), range.smallest_normal);
    EXPECT_EQ(smallest_subnormal(range.system), range.smallest_subnormal);
    EXPECT_EQ(decode(range.system, 1), range.smallest_subnormal);
  }
}

TEST(Minifloat, HasThePublishedCodes) {
  EXPECT_TRUE(std::isnan(decode(kE4M3, 0x7f)));
  EXPECT_TRUE(std::isnan(decode(kE4M3, 0xff)));
  EXPECT_EQ(decode(kE4M3, 0x7e), 448);
  EXPECT_EQ(decode(kE4M3, 0x78), 256);  // the largest exponent holds numbers
  EXPECT_EQ(decode(kE5M2, 0x7c), kInfinity);
  EXPECT_EQ(decode(kE5M2, 0xfc), -kInfinity);
  for (const std::uint32_t code : {0x7dU, 0x7eU, 0x7fU, 0xfdU, 0xfeU, 0xffU}) {
    EXPECT_TRUE(std::isnan(decode(kE5M2, code)));
  }
  EXPECT_EQ(magnitudes(kE2M1), (std::vector<float>{0, 0.5F, 1, 1.5F, 2, 3, 4, 6}));
  EXPECT_EQ(encode(kE4M3, 1), 0x38U);
  EXPECT_EQ(encode(kE5M2, -1), 0xbcU);
}

TEST(Minifloat, TakesNanInPlaceOfMinusZeroWhereThatIsTheOnlySpecial) {
  for (const Minifloat& system : {kE4M3Fnuz, kE5M2Fnuz}) {
    EXPECT_TRUE(std::isnan(decode(system, 0x80)));
    EXPECT_EQ(encode(system, kNan), 0x80U);
    EXPECT_EQ(encode(system, -kNan), 0x80U);
    EXPECT_EQ(encode(system, -0.0F), 0U);
    EXPECT_EQ(encode(system, -1e-30F), 0U);
    EXPECT_EQ(encode(system, kInfinity), 0x7fU);
    EXPECT_EQ(encode(system, kInfinity, Overflow::kSpecial), 0x80U);
  }
}

TEST(Minifloat, IsFoundByName) {
  EXPECT_EQ(minifloat_from("e4m3"), kE4M3);
  EXPECT_EQ(minifloat_from("e5m2"), kE5M2);
  EXPECT_EQ(minifloat_from("e3m2"), kE3M2);
  EXPECT_EQ(minifloat_from("e2m3"), kE2M3);
  EXPECT_EQ(minifloat_from("e2m1"), kE2M1);
  EXPECT_EQ(minifloat_from("e5m10"), kBinary16);
  EXPECT_EQ(minifloat_from("e8m7"), kE8M7);
  EXPECT_EQ(minifloat_from("e6m9"), minifloat(6, 9, Specials::kInfinityAndNan));
  EXPECT_EQ(minifloat_from("e4m3fnuz"), kE4M3Fnuz);
  EXPECT_EQ(minifloat_from("e5m2fnuz"), kE5M2Fnuz);
  for (const char* name : {"", "e", "fnuz", "e4m3 ", "e4m3fn", "e1m3", "e9m1", "e4m0", "e4m03",
                           "e4m-1", "e4m12", "e8m8", "e8m7fnuz", "e10m5", "E4M3", "bf16"}) {
    EXPECT_FALSE(minifloat_from(name)) << name;
  }
}

TEST(Minifloat, EveryCodeSurvivesARoundTrip) {
  for (const Minifloat& system : kAll) {
    for (std::uint32_t code = 0; code < num_codes(system); ++code) {
      const float x = decode(system, code);
      ASSERT_EQ(std::signbit(x), code >= num_codes(system) / 2);
      const std::uint32_t again = encode(system, x, Overflow::kSpecial);
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(decode(system, again)));
        ASSERT_EQ(again >= num_codes(system) / 2, code >= num_codes(system) / 2);
      } else {
        ASSERT_EQ(again, code);
        ASSERT_EQ(bits_of(round_to_nearest(system, x, Overflow::kSpecial)), bits_of(x));
      }
    }
  }
}

TEST(Minifloat, OfSixteenBitsIsWhatTheBaseHas) {
  for (std::uint32_t code = 0; code <= 0xffff; ++code) {
    const auto half = static_cast<std::uint16_t>(code);
    const float x = decode(kBinary16, code);
    const float b = decode(kE8M7, code);
    if (!std::isnan(x)) {
      ASSERT_EQ(bits_of(x), bits_of(float_from_half(half)));
    }
    if (!std::isnan(b)) {
      ASSERT_EQ(bits_of(b), bits_of(float_from_bfloat16(half)));
    }
  }
  Random random(1);
  for (int i = 0; i < 100000; ++i) {
    const auto pattern = static_cast<std::uint32_t>(random.next() >> 32);
    // All float32 numbers, then those about binary16's range.
    const std::uint32_t near = (pattern & 0x8fffffff) + 0x30000000;
    for (const float x : {std::bit_cast<float>(pattern), std::bit_cast<float>(near)}) {
      ASSERT_EQ(encode(kBinary16, x, Overflow::kSpecial), half_from_float(x)) << x;
    }
  }
}

// A number between neighbours rounds to the nearer one, a tie to the even code.
TEST(Minifloat, RoundsToTheNearestTiesToEven) {
  for (const Minifloat& system : kAll) {
    const std::vector<float> numbers = magnitudes(system);
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
      const float low = numbers[i];
      const float high = numbers[i + 1];
      const float tie = low / 2 + high / 2;
      const float even = i % 2 == 0 ? low : high;
      for (const float sign : {1.0F, -1.0F}) {
        const auto rounded = [&](float x) { return sign * round_to_nearest(system, sign * x); };
        ASSERT_EQ(rounded(tie), even) << low;
        ASSERT_EQ(rounded(std::nextafter(tie, 0.0F)), low) << low;
        ASSERT_EQ(rounded(std::nextafter(tie, kInfinity)), high) << low;
        ASSERT_EQ(rounded(std::nextafter(low, kInfinity)), low) << low;
        ASSERT_EQ(rounded(std::nextafter(high, 0.0F)), high) << low;
      }
    }
  }
}

TEST(Minifloat, RoundsFloat32SubnormalsAsOtherNumbers) {
  constexpr float kLeast = std::numeric_limits<float>::denorm_min();
  EXPECT_EQ(round_to_nearest(kE8M7, 0x1p-134F), 0);  // a tie
  EXPECT_EQ(round_to_nearest(kE8M7, 0x1p-134F + kLeast), 0x1p-133F);
  EXPECT_EQ(round_to_nearest(kE4M3, -kLeast), 0);
  EXPECT_TRUE(std::signbit(round_to_nearest(kE4M3, -kLeast)));
}

TEST(Minifloat, SaturatesOrOverflowsWhereTheNextNumberWouldBe) {
  // The tie between the largest number and the one that is missing above it.
  struct Edge {
    Minifloat system;
    float tie;
    bool rounds_down;  ///< whether the tie does: the largest mantissa is even
    float beyond;
  };
  for (const Edge& edge : {Edge{kE4M3, 464, true, kNan}, Edge{kE5M2, 61440, false, kInfinity},
                           Edge{kBinary16, 65520, false, kInfinity}, Edge{kE2M1, 7, false, 6},
                           Edge{kE4M3Fnuz, 248, false, kNan}, Edge{kE5M2Fnuz, 61440, false, kNan},
                           Edge{kE3M2, 30, false, 28}}) {
    const auto special = [&](float x) {
      return round_to_nearest(edge.system, x, Overflow::kSpecial);
    };
    const float most = largest(edge.system);
    EXPECT_EQ(special(std::nextafter(edge.tie, 0.0F)), most);
    if (edge.rounds_down) {
      EXPECT_EQ(special(edge.tie), most);
    }
    for (const float x : {std::nextafter(edge.tie, kInfinity), 1e30F, kInfinity}) {
      EXPECT_EQ(bits_of(special(x)), bits_of(edge.beyond));
      EXPECT_EQ(bits_of(special(-x)), bits_of(-edge.beyond));
      EXPECT_EQ(round_to_nearest(edge.system, x), most);
      EXPECT_EQ(round_to_nearest(edge.system, -x), -most);
      EXPECT_EQ(round_stochastically(edge.system, x, 0), most);
    }
    if (!edge.rounds_down) {
      EXPECT_EQ(bits_of(special(edge.tie)), bits_of(edge.beyond));
    }
  }
  EXPECT_EQ(round_to_nearest(kE8M7, std::numeric_limits<float>::max(), Overflow::kSpecial),
            kInfinity);
  EXPECT_EQ(round_to_nearest(kE8M7, std::numeric_limits<float>::max()), 0x1.fep127F);
}

TEST(Minifloat, KeepsNan) {
  for (const Minifloat& system : kAll) {
    for (const Overflow overflow : {Overflow::kSaturate, Overflow::kSpecial}) {
      EXPECT_TRUE(std::isnan(round_to_nearest(system, kNan, overflow)));
      EXPECT_TRUE(std::isnan(round_stochastically(system, -kNan, 7, overflow)));
    }
  }
  EXPECT_EQ(encode(kE4M3, kNan), 0x7fU);
  EXPECT_EQ(encode(kE5M2, -kNan), 0xfeU);
}

TEST(Minifloat, RoundsUpForAsManyRandomNumbersAsTheFractionSays) {
  for (const Minifloat& system : kSmall) {
    const std::vector<float> numbers = magnitudes(system);
    for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
      for (const int eighths : {1, 3, 4, 7}) {
        const float low = numbers[i];
        const float high = numbers[i + 1];
        const float x = low + (high - low) * static_cast<float>(eighths) / 8;
        // floor(f + u) is 1 from u = 1 - f on.
        const std::uint32_t first = static_cast<std::uint32_t>(8 - eighths) << 29;
        for (const float sign : {1.0F, -1.0F}) {
          const auto rounded = [&](std::uint32_t random) {
            return sign * round_stochastically(system, sign * x, random);
          };
          ASSERT_EQ(rounded(0), low);
          ASSERT_EQ(rounded(first - 1), low);
          ASSERT_EQ(rounded(first), high);
          ASSERT_EQ(rounded(0xffffffff), high);
        }
      }
    }
  }
}

TEST(Minifloat, LeavesItsOwnNumbersAloneWhateverTheRandomNumber) {
  for (const Minifloat& system : kAll) {
    for (const float x : magnitudes(system)) {
      const bool is_unsigned = x == 0 && system.specials == Specials::kOneNan;
      for (const std::uint32_t random : {0U, 0x80000000U, 0xffffffffU}) {
        ASSERT_EQ(bits_of(round_stochastically(system, -x, random)), bits_of(is_unsigned ? x : -x));
      }
    }
  }
}

// The mean of n roundings is within d of x except with probability 2 exp(-2 n d^2 / q^2)
// (Hoeffding), where q is the gap: 1e-43 for d = q / 20 and n = 20000.
TEST(Minifloat, IsRightOnAverage) {
  constexpr int kDraws = 20000;
  Random random(5);
  for (const Minifloat& system : kAll) {
    for (const double steps : {0.3, 1.7, 5.05, 6.6}) {
      const double least = smallest_subnormal(system);
      const auto x = static_cast<float>(steps * least);
      double sum = 0;
      for (int i = 0; i < kDraws; ++i) {
        sum += static_cast<double>(
            round_stochastically(system, x, static_cast<std::uint32_t>(random.next() >> 32)));
      }
      const double gap = std::max(least, static_cast<double>(x) / (1 << system.mantissa_bits));
      EXPECT_NEAR(sum / kDraws, static_cast<double>(x), gap / 20);
    }
  }
}

TEST(Minifloat, NeverFallsWhereNumbersGrow) {
  Random random(6);
  std::vector<float> numbers(20000);
  for (float& x : numbers) {
    x = static_cast<float>(std::ldexp(random.normal(), static_cast<int>(random.below(24)) - 16));
  }
  std::ranges::sort(numbers);
  for (const Minifloat& system : kAll) {
    for (const std::uint32_t draw : {0U, 0x12345678U, 0xffffffffU}) {
      std::vector<float> rounded = numbers;
      for (float& x : rounded) x = round_stochastically(system, x, draw);
      ASSERT_TRUE(std::ranges::is_sorted(rounded));
    }
    std::vector<float> rounded = numbers;
    round_to_nearest(system, rounded);
    ASSERT_TRUE(std::ranges::is_sorted(rounded));
  }
}

TEST(Minifloat, RoundsManyAsOne) {
  Random random(7);
  std::vector<float> numbers(1001);
  for (float& x : numbers) x = static_cast<float>(100 * random.normal());
  for (const Minifloat& system : kAll) {
    std::vector<float> nearest = numbers;
    round_to_nearest(system, nearest);
    std::vector<float> stochastic = numbers;
    Random stream(11);
    round_stochastically(system, stochastic, stream);
    Random same(11);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      ASSERT_EQ(nearest[i], round_to_nearest(system, numbers[i]));
      const auto draw = static_cast<std::uint32_t>(same.next() >> 32);
      ASSERT_EQ(stochastic[i], round_stochastically(system, numbers[i], draw));
    }
  }
}

}  // namespace
}  // namespace halftone::numerics
