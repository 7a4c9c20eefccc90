// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <string>
#include <vector>

#include "halftone/base/half.h"
#include "halftone/base/testing.h"
#include "halftone/numerics/minifloat.h"
#include "halftone/numerics/number_format.h"
#include "halftone/numerics/test_data.h"

namespace halftone::numerics {
namespace {

bool same_number(float x, float y) {
  return (std::isnan(x) && std::isnan(y)) ||
         std::bit_cast<std::uint32_t>(x) == std::bit_cast<std::uint32_t>(y);
}

/// All numbers of binary16: infinities and NaN too.
std::vector<float> all_halves() {
  std::vector<float> halves;
  for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
    halves.push_back(float_from_half(static_cast<std::uint16_t>(bits)));
  }
  return halves;
}

std::vector<float> rounded(const NumberFormat& format, const std::vector<float>& x,
                           std::size_t rows = 1) {
  std::vector<float> y(x.size());
  const std::size_t cols = x.size() / rows;
  round_by_rule(format, {x, rows, cols}, {y, rows, cols});
  return y;
}

std::vector<float> rounded_by_chance(const NumberFormat& format, const std::vector<float>& x,
                                     std::uint64_t seed, std::size_t rows = 1) {
  std::vector<float> y(x.size());
  const std::size_t cols = x.size() / rows;
  Random random(seed);
  round_by_rule_stochastically(format, {x, rows, cols}, {y, rows, cols}, random);
  return y;
}

/// Calls check(format) for the formats of every system, at few, some and many bits.
template <typename Check>
void for_each_format(const Check& check) {
  std::vector<std::string> texts = {"e3m4",     "e2m5",         "e4m3_nan",
                                    "e5m2_nan", "e4m3fnuz_nan", "e5m2fnuz_nan",
                                    "fp16_nan", "bf16_nan",     "e2m1fnuz_nan"};
  for (const NumberSystem& system : number_systems()) {
    if (system.is_learned()) continue;
    const std::string name(system.name);
    if (system.min_bits == system.max_bits) {
      texts.push_back(name);
      continue;
    }
    for (const int bits : {system.min_bits, 4, 8, system.max_bits}) {
      if (system.allows(bits)) texts.push_back(name + std::to_string(bits));
    }
  }
  for (const std::string& text : texts) {
    SCOPED_TRACE(text);
    check(parse_number_format(text));
  }
}

// The definition: the code of the number by a search of the levels, and the value of that code.
TEST(RoundByRule, GivesTheValuesOfTheCodesOfAllHalves) {
  const std::vector<float> x = all_halves();
  for_each_format([&](const NumberFormat& format) {
    const MatrixEncoding encoding =
        encoding_by_rule(*format.system, format.bits, format.blocks, {x, 1, x.size()});
    const std::vector<float> y = rounded(format, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const std::size_t group =
          format.blocks.granularity == Granularity::kGroup ? i / format.blocks.group_size : 0;
      const Levels levels = encoding.levels(group);
      // The lowest integer, which no finite number takes, is the lowest for -infinity too.
      if (format.system->name == "int_narrow" && x[i] == -kInfinity) {
        ASSERT_EQ(y[i], levels.value(1));
        continue;
      }
      const float expected = std::isnan(x[i]) ? x[i] : levels.value(levels.encode(x[i]));
      ASSERT_TRUE(same_number(y[i], expected)) << x[i] << ": " << y[i] << ", " << expected;
    }
  });
}

/// The levels around x, by a linear search; both the outer level for numbers beyond.
std::pair<double, double> neighbours(const Levels& levels, double x) {
  double low = -kInfinity;
  double high = kInfinity;
  const std::span<const float> thresholds = levels.codebook()->thresholds();
  const bool is_narrow = thresholds.front() == -kInfinity;
  const std::span<const float> sorted = levels.codebook()->sorted().subspan(is_narrow ? 1 : 0);
  for (const float each : sorted) {
    const double level{each};
    if (level <= x) low = std::max(low, level);
    if (level >= x) high = std::min(high, level);
  }
  if (low == -kInfinity) low = high;
  if (high == kInfinity) high = low;
  return {low, high};
}

// Every result is a neighbour, and the upper one as often as its probability says: of 4,000 draws
// the share is off by more than 0.05 with a probability below 1e-9.
TEST(RoundByRuleStochastically, TakesNeighboursWithTheirProbabilities) {
  constexpr std::size_t kDraws = 4000;
  Random random(41);
  const std::vector<float> around = random_floats(random, 14);
  for_each_format([&](const NumberFormat& given) {
    NumberFormat format = given;
    format.blocks = {Granularity::kTensor, 0};
    if (format.bits > 12) return;  // the same code as with fewer bits
    for (const float number : around) {
      // The outer numbers give the scale; the one in question is drawn for many times.
      std::vector<float> x(kDraws, number);
      x.insert(x.end(), {3.5F, -3.5F});
      const MatrixEncoding encoding =
          encoding_by_rule(*format.system, format.bits, format.blocks, {x, 1, x.size()});
      const Levels levels = encoding.levels(0);
      const auto [low, high] = neighbours(levels, double{levels.argument(number)});
      const double share = low == high ? 0 : (double{levels.argument(number)} - low) / (high - low);
      const auto value = [&](double level) {
        const float scaled = levels.scale() * static_cast<float>(level);
        return levels.offset() == 0 ? scaled : scaled + levels.offset();
      };
      const std::vector<float> y = rounded_by_chance(format, x, 17);
      double count = 0;
      for (std::size_t i = 0; i < kDraws; ++i) {
        ASSERT_TRUE(y[i] == value(low) || y[i] == value(high)) << number << ' ' << y[i];
        count += y[i] == value(high) && low != high ? 1 : 0;
      }
      ASSERT_NEAR(count / kDraws, share, 0.05) << number;
    }
  });
}

TEST(RoundByRuleStochastically, LeavesLevelsAndSaturatesBeyondThem) {
  for_each_format([&](const NumberFormat& format) {
    if (format.system->rule != ScaleRule::kUnit) return;
    const auto codebook = codebook_of(*format.system, format.bits);
    const std::vector<float> x(codebook->sorted().begin(), codebook->sorted().end());
    EXPECT_EQ(rounded_by_chance(format, x, 3), x);
  });
  const NumberFormat bfp = parse_number_format("bfp4");
  // e = 0 from the number 7.9: 8 is beyond the levels from -8 to 7.
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_EQ(rounded_by_chance(bfp, {7.9F, -7, 3}, seed), (std::vector<float>{7, -7, 3}));
  }
}

TEST(RoundByRuleStochastically, DrawsForMinifloatsAsTheseDo) {
  Random random(42);
  std::vector<float> x = random_floats(random, 1000);
  for (float& each : x) each *= 1e4F;
  const std::vector<float> y = rounded_by_chance(parse_number_format("fp16"), x, 9);
  Random draws(9);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto draw = static_cast<std::uint32_t>(draws.next() >> 32);
    ASSERT_EQ(y[i], round_stochastically(kBinary16, x[i], draw));
  }
}

// Blocks as everywhere; the i-th number uses the i-th random value whatever the rows.
TEST(RoundByRuleStochastically, UsesAValueForEachNumberRowByRow) {
  Random random(43);
  std::vector<float> x = random_floats(random, 6 * 40);
  const NumberFormat format = parse_number_format("mxfp4");
  std::vector<float> expected(x.size());
  Random draws(5);
  for (std::size_t row = 0; row < 6; ++row) {
    round_by_rule_stochastically(format, {x.data() + 40 * row, 1, 40, 40},
                                 {expected.data() + 40 * row, 1, 40, 40}, draws);
  }
  EXPECT_EQ(rounded_by_chance(format, x, 5, 6), expected);
  EXPECT_NE(rounded_by_chance(format, x, 6, 6), expected);
  // In place.
  Random again(5);
  round_by_rule_stochastically(format, {x, 6, 40}, {x, 6, 40}, again);
  EXPECT_EQ(x, expected);
}

TEST(RoundByRule, LeavesFloat32Alone) {
  const std::vector<float> x{1.1F, -2.3e-41F, 5e30F};
  EXPECT_EQ(rounded({}, x), x);
  EXPECT_EQ(rounded_by_chance({}, x, 1), x);
}

TEST(RoundByRule, NeverHidesNan) {
  for_each_format([&](const NumberFormat& format) {
    std::vector<float> x(40, 0.75F);
    x[3] = kNan;
    for (const std::vector<float>& y : {rounded(format, x), rounded_by_chance(format, x, 2)}) {
      EXPECT_TRUE(std::isnan(y[3]));
      EXPECT_TRUE(std::isfinite(y[2]));
    }
  });
}

TEST(RoundByRule, OverflowsToInfinityOrNanWhereTheNameSaysSo) {
  // The middle between 65,504 and 65,536 has an even code above; that of 448 an even one below.
  EXPECT_EQ(rounded(parse_number_format("fp16_nan"), {65519, 65520, -1e6F}),
            (std::vector<float>{65504, kInfinity, -kInfinity}));
  EXPECT_EQ(rounded(parse_number_format("fp16"), {65519, 65520, -1e6F}),
            (std::vector<float>{65504, 65504, -65504}));
  // The scale is that of the finite numbers.
  const std::vector<float> x{448, -kInfinity, 32, kInfinity};
  const std::vector<float> y = rounded(parse_number_format("e4m3_nan"), x);
  EXPECT_TRUE(y[0] == 448 && std::isnan(y[1]) && y[2] == 32 && std::isnan(y[3]));
  EXPECT_EQ(rounded(parse_number_format("e5m2_nan"), {57344, -kInfinity, 32, kInfinity}),
            (std::vector<float>{57344, -kInfinity, 32, kInfinity}));
  EXPECT_EQ(rounded(parse_number_format("e5m2"), {57344, -kInfinity, 32, kInfinity}),
            (std::vector<float>{57344, -57344, 32, 57344}));
}

}  // namespace
}  // namespace halftone::numerics
