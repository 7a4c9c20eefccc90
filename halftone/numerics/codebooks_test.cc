// SPDX-License-Identifier: Apache-2.0
// Codebooks against definitions that are written once more here: exact arithmetic in float64, and
// search of the nearest level.
#include "halftone/numerics/codebooks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "halftone/base/half.h"
#include "halftone/base/testing.h"
#include "halftone/numerics/levels.h"

namespace halftone::numerics {
namespace {

using testing::ElementsAre;

std::vector<float> levels_in(const Codebook& codebook) {
  return {codebook.levels().begin(), codebook.levels().end()};
}

/// Finds the nearest level. Midpoints are exact in float64: the exponents of neighbours other than
/// 0 differ by less than 29 in these codebooks.
class Nearest {
 public:
  Nearest(const Codebook& codebook, bool ties_to_even) : ties_to_even_(ties_to_even) {
    for (std::size_t code = 0; code < codebook.levels().size(); ++code) {
      const float level = codebook.levels()[code];
      if (std::isfinite(level)) codes_.emplace(level, static_cast<Code>(code));
      if (level == 0 && std::signbit(level)) negative_zero_ = static_cast<int>(code);
    }
  }

  [[nodiscard]] Code encode(float x) const {
    const Code code = nearest(x);
    const auto zero = codes_.find(0);
    const bool is_zero = zero != codes_.end() && zero->second == code;
    return is_zero && std::signbit(x) && negative_zero_ >= 0 ? static_cast<Code>(negative_zero_)
                                                             : code;
  }
  /// All levels, the midpoints of neighbours, and the float32 numbers next to them.
  [[nodiscard]] std::vector<float> critical() const {
    std::vector<float> numbers;
    for (auto above = std::next(codes_.begin()); above != codes_.end(); ++above) {
      const auto below = std::prev(above);
      const auto middle = static_cast<float>(double{below->first} / 2 + double{above->first} / 2);
      for (const float x : {below->first, middle, above->first}) {
        numbers.push_back(std::nextafter(x, -kInfinity));
        numbers.push_back(x);
        numbers.push_back(std::nextafter(x, kInfinity));
      }
    }
    return numbers;
  }

 private:
  [[nodiscard]] Code nearest(float x) const {
    const auto above = codes_.lower_bound(x);
    if (above == codes_.begin()) return above->second;
    const auto below = std::prev(above);
    if (above == codes_.end()) return below->second;
    const double middle = double{below->first} / 2 + double{above->first} / 2;
    if (double{x} != middle) return double{x} < middle ? below->second : above->second;
    const bool is_lower = ties_to_even_ ? below->second % 2 == 0 : x > 0;
    return is_lower ? below->second : above->second;
  }

  bool ties_to_even_;
  std::map<float, Code> codes_;  ///< emplace() keeps the first, lowest code; -0 and 0 are equal
  int negative_zero_ = -1;
};

void expect_nearest(const Codebook& codebook, bool ties_to_even) {
  const Nearest nearest(codebook, ties_to_even);
  for (const float x : nearest.critical()) {
    ASSERT_EQ(codebook.encode(x), nearest.encode(x)) << codebook.name() << ' ' << x;
  }
  for (std::uint32_t half = 0; half <= 0xffff; ++half) {
    const float x = float_from_half(static_cast<std::uint16_t>(half));
    if (std::isnan(x)) continue;
    ASSERT_EQ(codebook.encode(x), nearest.encode(x)) << codebook.name() << ' ' << x;
  }
  for (const float x :
       {std::numeric_limits<float>::max(), std::numeric_limits<float>::denorm_min(), kInfinity}) {
    ASSERT_EQ(codebook.encode(x), nearest.encode(x)) << codebook.name() << ' ' << x;
    ASSERT_EQ(codebook.encode(-x), nearest.encode(-x)) << codebook.name() << ' ' << -x;
  }
}

TEST(Codebooks, OfIntegersAscendWithTheirCodes) {
  EXPECT_THAT(levels_in(signed_integers("t", 3)), ElementsAre(-4, -3, -2, -1, 0, 1, 2, 3));
  EXPECT_THAT(levels_in(unsigned_integers("t", 2)), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(levels_in(half_integers("t", 2)), ElementsAre(-1.5F, -0.5F, 0.5F, 1.5F));
  EXPECT_THAT(levels_in(half_integers("t", 1)), ElementsAre(-0.5F, 0.5F));
  EXPECT_EQ(signed_fractions("t", 8).levels().front(), -2);
  EXPECT_EQ(signed_fractions("t", 8).levels().back(), 127.0F / 64);
  for (const int bits : {1, 4, 8, 16}) {
    for (const Codebook& codebook : {signed_integers("t", bits), unsigned_integers("t", bits),
                                     half_integers("t", bits), signed_fractions("t", bits)}) {
      EXPECT_EQ(codebook.bits(), bits);
      EXPECT_TRUE(codebook.is_even());
      expect_nearest(codebook, true);
    }
  }
}

TEST(Codebooks, OfNarrowIntegersNeverUseTheLowest) {
  for (const int bits : {2, 3, 8}) {
    const Codebook codebook = narrow_integers("t", bits);
    EXPECT_TRUE(codebook.is_even());
    for (const float x : {-1e30F, -200.0F, -128.0F, -127.6F, -4.0F, -3.6F, -2.0F}) {
      EXPECT_GE(codebook.encode(x), 1) << x;
    }
    EXPECT_EQ(codebook.levels()[codebook.encode(-1e30F)], -std::ldexp(1.0F, bits - 1) + 1);
    EXPECT_EQ(codebook.levels()[codebook.encode(1e30F)], std::ldexp(1.0F, bits - 1) - 1);
    EXPECT_EQ(codebook.levels()[codebook.encode(0.4F)], 0);
  }
}

TEST(Codebooks, OfTernaryHaveThreeLevels) {
  const Codebook codebook = ternary("t");
  EXPECT_EQ(codebook.bits(), 2);
  EXPECT_EQ(codebook.sorted().size(), 3U);
  EXPECT_EQ(codebook.encode(0), 1);
  EXPECT_EQ(codebook.encode(-0.6F), 0);
  EXPECT_EQ(codebook.encode(2), 3);
  EXPECT_THAT(codebook.coefficients(), ElementsAre(0.5F, 0.5F));
  EXPECT_FALSE(codebook.is_even());
  expect_nearest(codebook, false);
}

TEST(Codebooks, OfPowersOfTwoAreTheSignedPowersAndZero) {
  EXPECT_THAT(levels_in(powers_of_two("t", 3)),
              ElementsAre(0, 0.25F, 0.5F, 1, -0.0F, -0.25F, -0.5F, -1));
  EXPECT_EQ(powers_of_two("t", 8).levels()[1], 0x1p-126F);
  for (int bits = 2; bits <= 8; ++bits) expect_nearest(powers_of_two("t", bits), false);
}

/// All sums of one number of each set, ascending.
std::vector<float> sums(const std::vector<std::vector<int>>& exponents) {
  std::vector<float> result{0};
  for (const std::vector<int>& set : exponents) {
    std::vector<float> longer = result;
    for (const int e : set) {
      for (const float x : result) longer.push_back(x + std::ldexp(1.0F, e));
    }
    result = longer;
  }
  std::ranges::sort(result);
  return result;
}

// The sets of the authors' implementation, whose largest power is 1/2 instead of 1.
TEST(Codebooks, OfAdditivePowersOfTwoAreTheSumsOfThePaper) {
  const std::map<int, std::vector<std::vector<int>>> sets = {
      {2, {{0}}},
      {3, {{0, -1, -2}}},
      {4, {{0, -1, -3}, {-2}}},
      {5, {{0, -2, -4}, {-1, -3, -5}}},
      {6, {{0, -2, -5}, {-1, -3, -6}, {-4}}},
      {7, {{0, -3, -6}, {-1, -4, -7}, {-2, -5, -8}}},
      {8, {{0, -3, -7}, {-1, -4, -8}, {-2, -5, -9}, {-6}}}};
  for (const auto& [bits, exponents] : sets) {
    const Codebook codebook = additive_powers_of_two("t", bits);
    std::vector<float> levels = levels_in(codebook);
    const auto half = static_cast<std::ptrdiff_t>(levels.size() / 2);
    std::vector<float> above(levels.begin(), levels.begin() + half);
    for (std::size_t code = 0; code < above.size(); ++code) {
      EXPECT_EQ(levels[code + above.size()], -levels[code]);
    }
    std::ranges::sort(above);
    EXPECT_EQ(above, sums(exponents)) << bits;
    EXPECT_EQ(codebook.sorted().size(), levels.size() - 1);
    expect_nearest(codebook, false);
  }
}

TEST(Codebooks, OfLogarithmsRoundTheLogarithm) {
  EXPECT_THAT(levels_in(logarithmic("t", 3)),
              ElementsAre(0, 0.5F, static_cast<float>(std::sqrt(0.5)), 1, -0.0F, -0.5F,
                          -static_cast<float>(std::sqrt(0.5)), -1));
  for (int bits = 2; bits <= 8; ++bits) {
    const Codebook codebook = logarithmic("t", bits);
    const int last = (1 << (bits - 1)) - 1;
    for (std::uint32_t half = 1; half < 0x7c00; ++half) {
      const float x = float_from_half(static_cast<std::uint16_t>(half));
      const double steps = std::round(2 * std::log2(double{x}));  // no half lies on a threshold
      const int m = static_cast<int>(std::clamp(steps + last, 0.0, double(last)));
      ASSERT_EQ(codebook.encode(x), m) << bits << ' ' << x;
      ASSERT_EQ(codebook.encode(-x), m + last + 1) << bits << ' ' << -x;
    }
  }
}

/// A code by the definition of its format, in float64.
double float_value(const Minifloat& format, std::uint32_t code) {
  const auto field = [&](int first, int bits) { return int(code >> first) & ((1 << bits) - 1); };
  const int m = field(0, format.mantissa_bits);
  const int e = field(format.mantissa_bits, format.exponent_bits);
  const double sign = field(format.bits() - 1, 1) != 0 ? -1 : 1;
  const int last_m = (1 << format.mantissa_bits) - 1;
  const int last_e = (1 << format.exponent_bits) - 1;
  const double fraction = m / std::ldexp(1.0, format.mantissa_bits);
  if (format.specials == Specials::kInfinityAndNan && e == last_e) {
    return m == 0 ? sign * double{kInfinity} : double{kNan};
  }
  if (format.specials == Specials::kNan && e == last_e && m == last_m) return double{kNan};
  if (format.specials == Specials::kOneNan && sign < 0 && e == 0 && m == 0) return double{kNan};
  return e == 0 ? sign * std::exp2(1 - format.bias) * fraction
                : sign * std::exp2(e - format.bias) * (1 + fraction);
}

void expect_same_number(double found, double expected, std::uint32_t code) {
  if (std::isnan(expected)) {
    ASSERT_TRUE(std::isnan(found)) << code;
    return;
  }
  ASSERT_EQ(found, expected) << code;
  ASSERT_EQ(std::signbit(found), std::signbit(expected)) << code;
}

TEST(Codebooks, OfFloatsHaveTheValuesOfTheirDefinitionAndTheNearestCodes) {
  for (const char* name : {"e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e3m2", "e2m3", "e2m1", "e5m10",
                           "e6m9", "e8m7", "e3m4", "e3m1", "e7m4", "e3m12", "e4m7fnuz"}) {
    const Minifloat format = minifloat_from(name).value();
    const Codebook codebook(name, format);
    ASSERT_EQ(codebook.bits(), format.bits());
    for (std::uint32_t code = 0; code < codebook.levels().size(); ++code) {
      const double level{codebook.levels()[code]};
      ASSERT_NO_FATAL_FAILURE(expect_same_number(level, float_value(format, code), code)) << name;
    }
    ASSERT_NO_FATAL_FAILURE(expect_nearest(codebook, true));
    if (format.specials != Specials::kNone) {
      EXPECT_TRUE(std::isnan(codebook.levels()[codebook.encode(kNan)])) << name;
    }
  }
}

TEST(Codebooks, OfFloatsEncodeAsMinifloatsThatSaturate) {
  for (const char* name : {"e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e3m2", "e2m1", "e6m9"}) {
    const Minifloat format = minifloat_from(name).value();
    const Codebook codebook(name, format);
    for (std::uint32_t half = 0; half <= 0xffff; ++half) {
      const float x = float_from_half(static_cast<std::uint16_t>(half));
      if (std::isnan(x)) continue;
      ASSERT_EQ(codebook.encode(x), encode(format, x)) << name << ' ' << x;
    }
  }
}

// Infinity or NaN in place of the largest, as Minifloat says; the levels are the same.
TEST(Codebooks, OfFloatsThatOverflowEncodeAsMinifloatsThatDo) {
  for (const char* name : {"e4m3", "e5m2", "e4m3fnuz", "e5m2fnuz", "e2m1fnuz", "e3m4", "e2m5",
                           "e6m9", "e5m10", "e8m7"}) {
    const Minifloat format = minifloat_from(name).value();
    const Codebook codebook(name, format, Overflow::kSpecial);
    EXPECT_EQ(codebook.sorted().size(), Codebook(name, format).sorted().size());
    EXPECT_FALSE(codebook.fits_integers());
    for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
      const float x = name == std::string("e8m7")
                          ? float_from_bfloat16(static_cast<Code>(bits)) * (1 + 0x1p-8F)
                          : float_from_half(static_cast<Code>(bits));
      const Code code = codebook.encode(x);
      if (std::isnan(x)) {
        ASSERT_TRUE(std::isnan(codebook.levels()[code])) << name;
      } else {
        ASSERT_EQ(code, encode(format, x, Overflow::kSpecial)) << name << ' ' << x;
      }
    }
  }
}

// With any scale the table of a block finds the codes that the codebook has.
TEST(Codebooks, OfFloatsThatOverflowDoSoInTheTableOfABlock) {
  for (const char* name : {"e4m3", "e5m2", "e4m3fnuz", "e2m1fnuz"}) {
    const auto codebook =
        std::make_shared<const Codebook>(name, minifloat_from(name).value(), Overflow::kSpecial);
    for (const float scale : {1.0F, 0.37F, -2.9F, 1e-38F}) {
      const Levels levels(codebook, scale, 0);
      const LevelTable table(levels);
      ASSERT_TRUE(table.beyond().has_value());
      for (const float level : table.levels()) ASSERT_TRUE(std::isfinite(level));
      for (std::uint32_t bits = 0; bits <= 0xffff; ++bits) {
        const float x = scale * float_from_half(static_cast<Code>(bits));
        const float expected = levels.value(levels.encode(x));
        const float found = table.nearest(x);
        ASSERT_TRUE(found == expected || (std::isnan(found) && std::isnan(expected))) << x;
        const float of_code = levels.value(table.encode(x));
        ASSERT_TRUE(of_code == found || (std::isnan(of_code) && std::isnan(found))) << x;
      }
    }
  }
}

TEST(Codebooks, OfExponentsRoundTiesUp) {
  const Codebook codebook = exponents("t");
  EXPECT_EQ(codebook.levels()[0], 0x1p-127F);
  EXPECT_EQ(codebook.levels()[127], 1);
  EXPECT_EQ(codebook.levels()[254], 0x1p127F);
  EXPECT_EQ(codebook.encode(kNan), 255);
  for (int e = -126; e < 126; ++e) {
    const float middle = std::ldexp(1.5F, e);
    const auto lower = static_cast<Code>(e + 127);
    ASSERT_EQ(codebook.encode(std::nextafter(middle, 0.0F)), lower);
    ASSERT_EQ(codebook.encode(middle), lower + 1);
  }
}

TEST(Codebooks, OfNormalFloatsEncodeByTheirPublishedThresholds) {
  const Codebook codebook = normal_floats("t");
  EXPECT_EQ(codebook.levels()[7], 0);
  // bitsandbytes, dQuantizeNF4: above 0.03979... takes level 8, the number itself level 7.
  const float threshold = 0.03979014977812767F;
  EXPECT_EQ(codebook.encode(threshold), 7);
  EXPECT_EQ(codebook.encode(std::nextafter(threshold, 1.0F)), 8);
  EXPECT_EQ(codebook.encode(-1.2F), 0);
  EXPECT_EQ(codebook.encode(0.9F), 15);
}

TEST(Codebooks, HaveCoefficientsWhereBitsAreTheirSigns) {
  EXPECT_THAT(signed_integers("t", 3).coefficients(), ElementsAre(0.5F, 1, 2));
  EXPECT_EQ(half_integers("t", 8).coefficients().size(), 8U);
  for (const Codebook& codebook :
       {signed_integers("t", 9), powers_of_two("t", 2), additive_powers_of_two("t", 4),
        Codebook("t", kE2M1), Codebook("t", kE5M2), exponents("t"), normal_floats("t"),
        posits("t", 3)}) {
    EXPECT_TRUE(codebook.coefficients().empty()) << codebook.bits();
  }
  for (const Codebook& made : {ternary("t"), unsigned_integers("t", 8)}) {
    const Levels levels(std::make_shared<const Codebook>(made), 0.375F, -2);
    ASSERT_TRUE(levels.is_summed());
    for (std::size_t code = 0; code < levels.num_codes(); ++code) {
      const auto q = static_cast<Code>(code);
      EXPECT_EQ(levels.basis().value(q), levels.value(q));
    }
  }
}

/// The first bits of the endless bit string of a posit above zero, behind its sign.
std::vector<bool> posit_string(double x, int length) {
  int e = 0;
  double fraction = std::frexp(x, &e) * 2;  // in [1, 2)
  --e;
  const int k = e >= 0 ? e / 4 : -((3 - e) / 4);
  std::vector<bool> bits(static_cast<std::size_t>(k >= 0 ? k + 1 : -k), k >= 0);
  bits.push_back(k < 0);
  const int rest = e - 4 * k;
  bits.push_back(rest >= 2);
  bits.push_back(rest % 2 != 0);
  fraction -= 1;
  while (static_cast<int>(bits.size()) < length) {
    fraction *= 2;
    bits.push_back(fraction >= 1);
    if (fraction >= 1) fraction -= 1;
  }
  return bits;
}

/// The code of x by the rounding of the standard: on the bit string, to nearest, ties to even.
unsigned posit_code(double x, int n) {
  if (x == 0) return 0;
  if (x < 0) return (1U << n) - posit_code(-x, n);
  const unsigned most = (1U << (n - 1)) - 1;
  const int top = 4 * (n - 2);
  if (x >= std::exp2(top)) return most;
  if (x <= std::exp2(-top)) return 1;
  const std::vector<bool> bits = posit_string(x, 120);
  unsigned code = 0;
  for (int i = 0; i < n - 1; ++i) code = 2 * code + (bits[static_cast<std::size_t>(i)] ? 1 : 0);
  const auto next = bits.begin() + n - 1;
  const bool is_tie = *next && std::find(next + 1, bits.end(), true) == bits.end();
  if (*next && (!is_tie || code % 2 != 0)) ++code;
  return std::clamp(code, 1U, most);
}

TEST(Codebooks, OfPositsHaveThePublishedCodes) {
  EXPECT_THAT(levels_in(posits("t", 4)),
              ElementsAre(0, 0x1p-8F, 0x1p-4F, 0.25F, 1, 4, 16, 256, testing::IsNan(), -256, -16,
                          -4, -1, -0.25F, -0x1p-4F, -0x1p-8F));
  const Codebook eight = posits("t", 8);
  EXPECT_EQ(eight.levels()[0x01], 0x1p-24F);
  EXPECT_EQ(eight.levels()[0x40], 1);
  EXPECT_EQ(eight.levels()[0x7f], 0x1p24F);
  EXPECT_EQ(eight.levels()[0x43], 1.375F);
  EXPECT_EQ(eight.encode(kNan), 0x80);
  EXPECT_EQ(eight.encode(1e-30F), 0x01);
  EXPECT_EQ(eight.encode(-1e-30F), 0xff);
}

TEST(Codebooks, OfPositsRoundOnTheBitString) {
  for (int n = 3; n <= kMaxCodeBits; ++n) {
    const Codebook codebook = posits("t", n);
    std::vector<float> numbers(codebook.sorted().begin(), codebook.sorted().end());
    for (std::size_t l = 0; l + 1 < codebook.sorted().size(); ++l) {
      // The arithmetic and the geometric middle: one of them is the threshold.
      const double low{codebook.sorted()[l]};
      const double high{codebook.sorted()[l + 1]};
      numbers.push_back(static_cast<float>((low + high) / 2));
      numbers.push_back(static_cast<float>(std::copysign(std::sqrt(std::abs(low * high)), low)));
    }
    for (std::uint32_t half = 0; half <= 0xffff; half += n <= 8 ? 1 : 7) {
      const float x = float_from_half(static_cast<std::uint16_t>(half));
      if (!std::isnan(x)) numbers.push_back(x);
    }
    for (const float y : numbers) {
      for (const float x : {std::nextafter(y, -kInfinity), y, std::nextafter(y, kInfinity)}) {
        ASSERT_EQ(codebook.encode(x), posit_code(double{x}, n)) << n << ' ' << x;
      }
    }
  }
}

}  // namespace
}  // namespace halftone::numerics
