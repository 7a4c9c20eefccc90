// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "halftone/base/testing.h"
#include "halftone/numerics/levels.h"
#include "halftone/numerics/test_data.h"

namespace halftone::numerics {
namespace {

void expect_usage_error(const std::function<void()>& action, const char* text) {
  expect_error(ErrorKind::kUsage, text, action);
}

class PerBits : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Basis, PerBits, testing::Range(1, kMaxBits + 1));

// Powers of two as scale keep every level exact, so the formulas can be compared bit for bit.
TEST_P(PerBits, AffineCodesAreTheIntegersOfTheFormula) {
  const int bits = GetParam();
  for (const float zero_point : {0.0F, 1.0F, 3.0F, 128.0F}) {
    const Basis basis = affine_basis(bits, 0.25F, zero_point);
    const LevelTable table(basis);
    ASSERT_EQ(table.size(), std::size_t{1} << bits);
    for (std::size_t q = 0; q < table.size(); ++q) {
      const float x = 0.25F * (static_cast<float>(q) - zero_point);
      EXPECT_EQ(basis.value(static_cast<Code>(q)), x);
      EXPECT_EQ(table.encode(x), q);
    }
  }
}

TEST_P(PerBits, RangeLevelsAreEvenFromEndToEnd) {
  const int bits = GetParam();
  const float steps = static_cast<float>((1 << bits) - 1);
  const LevelTable table(range_basis(bits, -0.7F, 1.9F));
  for (std::size_t l = 0; l < table.size(); ++l) {
    EXPECT_EQ(table.codes()[l], l);
    EXPECT_NEAR(table.levels()[l], -0.7F + 2.6F * static_cast<float>(l) / steps, 1e-6);
  }
}

TEST_P(PerBits, SymmetricLevelsAreTheOddMultiplesOfHalfAStep) {
  const int bits = GetParam();
  const Basis basis = symmetric_basis(bits, 0.5F);
  EXPECT_EQ(basis.offset, 0);
  for (std::size_t q = 0; q < basis.num_levels(); ++q) {
    const int odd = 2 * static_cast<int>(q) - (1 << bits) + 1;
    EXPECT_EQ(basis.value(static_cast<Code>(q)), 0.25F * static_cast<float>(odd));
  }
}

TEST_P(PerBits, FixedPointLevelsAreTwosComplement) {
  const int bits = GetParam();
  for (const int fraction_bits : {-2, 0, 3, 10}) {
    const LevelTable table(fixed_point_basis(bits, fraction_bits));
    const int low = -(1 << (bits - 1));
    for (std::size_t l = 0; l < table.size(); ++l) {
      EXPECT_EQ(table.levels()[l],
                std::ldexp(static_cast<float>(low + static_cast<int>(l)), -fraction_bits));
    }
  }
}

TEST_P(PerBits, ValueIsTheSignedSum) {
  Random random(11);
  for (int repeat = 0; repeat < 10; ++repeat) {
    const Basis basis = random_basis(random, GetParam(), true);
    for (std::size_t code = 0; code < basis.num_levels(); ++code) {
      double sum = basis.offset;
      double magnitude = std::abs(basis.offset);
      for (std::size_t i = 0; i < basis.a().size(); ++i) {
        sum += (code >> i & 1) != 0 ? basis.a()[i] : -basis.a()[i];
        magnitude += std::abs(basis.a()[i]);
      }
      // K float32 additions, each within half an ulp of a partial sum <= magnitude.
      EXPECT_NEAR(basis.value(static_cast<Code>(code)), sum, magnitude * GetParam() * 0x1p-24);
    }
  }
}

TEST_P(PerBits, TableIsSortedWithThresholdsInTheMiddle) {
  Random random(12);
  const Basis basis = random_basis(random, GetParam(), true);
  const LevelTable table(basis);
  ASSERT_EQ(table.thresholds().size() + 1, table.size());
  EXPECT_TRUE(std::is_sorted(table.levels().begin(), table.levels().end()));
  for (std::size_t l = 0; l < table.size(); ++l) {
    EXPECT_EQ(table.levels()[l], basis.value(table.codes()[l]));
    if (l > 0) {
      EXPECT_EQ(table.thresholds()[l - 1], (table.levels()[l - 1] + table.levels()[l]) / 2);
    }
  }
}

TEST_P(PerBits, EncodeFindsTheNearestLevel) {
  Random random(13);
  const LevelTable table(random_basis(random, GetParam(), true));
  for (int repeat = 0; repeat < 500; ++repeat) {
    const auto x = static_cast<float>(4 * random.normal());
    float nearest = kInfinity;
    for (const float level : table.levels()) {
      nearest = std::min(nearest, std::abs(x - level));
    }
    EXPECT_NEAR(std::abs(table.nearest(x) - x), nearest, 1e-5) << x;
  }
}

TEST_P(PerBits, EncodingALevelAgainChangesNothing) {
  Random random(14);
  const LevelTable table(random_basis(random, GetParam(), true));
  for (const float level : table.levels()) EXPECT_EQ(table.nearest(level), level);
}

TEST_P(PerBits, TiesOnThresholdsGoDown) {
  Random random(15);
  const LevelTable table(random_basis(random, GetParam(), true));
  for (std::size_t l = 0; l < table.thresholds().size(); ++l) {
    const float threshold = table.thresholds()[l];
    EXPECT_EQ(table.index(threshold), l);
    EXPECT_EQ(table.index(std::nextafter(threshold, kInfinity)), l + 1);
  }
}

// The golden case of LQ_FULLY_CONNECTED: 0 lies on a threshold.
TEST(LevelTable, GoldenCase) {
  const LevelTable table(make_basis(std::vector{0.12F, 1.7F}));
  EXPECT_THAT(table.codes(), testing::ElementsAre(0, 1, 2, 3));
  unsigned plane0 = 0;
  unsigned plane1 = 0;
  const std::vector<float> x = {0.5F, 1.2F, 2.3F, -1.0F, 0.0F};
  for (std::size_t i = 0; i < x.size(); ++i) {
    const Code code = table.encode(x[i]);
    plane0 |= static_cast<unsigned>(code & 1) << i;
    plane1 |= static_cast<unsigned>(code >> 1) << i;
  }
  EXPECT_EQ(plane0, 28u);
  EXPECT_EQ(plane1, 7u);
}

TEST(LevelTable, HalfGapIsHalfTheMeanDistanceBetweenLevels) {
  // Levels -3, -1, 1, 3, then -4, -2, 2, 4.
  EXPECT_EQ(LevelTable(make_basis(std::vector{1.0F, 2.0F})).half_gap(), 1.0F);
  EXPECT_EQ(LevelTable(make_basis(std::vector{1.0F, 3.0F})).half_gap(), 8.0F / 6);
  EXPECT_EQ(LevelTable(make_basis(std::vector{0.0F})).half_gap(), 0.0F);
}

TEST(LevelTable, EqualLevelsKeepTheOrderOfTheirCodes) {
  const LevelTable table(make_basis(std::vector{1.0F, 1.0F, 0.0F}));
  EXPECT_THAT(table.codes(), testing::ElementsAre(0, 4, 1, 2, 5, 6, 3, 7));
  EXPECT_EQ(table.nearest(0.1F), 0.0F);
}

TEST(LevelTable, NegativeCoefficientsOnlyRenameTheCodes) {
  const LevelTable positive(make_basis(std::vector{0.3F, 1.0F}));
  const LevelTable negative(make_basis(std::vector{-0.3F, 1.0F}));
  EXPECT_THAT(negative.levels(), testing::ElementsAreArray(positive.levels()));
  EXPECT_THAT(negative.codes(), testing::ElementsAre(1, 0, 3, 2));
}

TEST(LevelTable, InfinitiesSaturateAndNanTakesTheLowestLevel) {
  const LevelTable table(make_basis(std::vector{0.5F, 1.0F}));
  EXPECT_EQ(table.index(-kInfinity), 0u);
  EXPECT_EQ(table.index(kInfinity), 3u);
  EXPECT_EQ(table.index(kNan), 0u);
}

TEST(RangeBasis, EqualBoundsGiveOneLevel) {
  const LevelTable table(range_basis(3, 0.7F, 0.7F));
  EXPECT_THAT(table.levels(), testing::Each(0.7F));
}

TEST(RangeBasis, TheWidestRangeStaysFinite) {
  constexpr float kMax = std::numeric_limits<float>::max();
  const Basis basis = range_basis(4, -kMax / 2, kMax / 2);
  EXPECT_TRUE(std::isfinite(basis.value(15)));
}

TEST(Basis, RefusesBitsOutOfRange) {
  const std::vector<float> nine(9, 1.0F);
  expect_usage_error([] { make_basis({}); }, "expected 1 to 8, found 0");
  expect_usage_error([&] { make_basis(nine); }, "expected 1 to 8, found 9");
  for (const int bits : {-1, 0, 9, 100}) {
    expect_usage_error([=] { affine_basis(bits, 1, 0); }, "expected 1 to 8");
    expect_usage_error([=] { range_basis(bits, 0, 1); }, "expected 1 to 8");
    expect_usage_error([=] { symmetric_basis(bits, 1); }, "expected 1 to 8");
    expect_usage_error([=] { fixed_point_basis(bits, 1); }, "expected 1 to 8");
    Basis basis;
    basis.bits = bits;
    expect_usage_error([&] { const LevelTable table(basis); }, "expected 1 to 8");
  }
}

TEST(Basis, RefusesNumbersThatAreNotFinite) {
  expect_usage_error([] { make_basis(std::vector{1.0F, kNan}); }, "coefficient of a basis");
  expect_usage_error([] { make_basis(std::vector{1.0F}, kInfinity); }, "offset of a basis");
  expect_usage_error([] { affine_basis(2, kInfinity, 0); }, "scale of a basis");
  expect_usage_error([] { affine_basis(2, 1, kNan); }, "zero point of a basis");
  expect_usage_error([] { affine_basis(8, 3e38F, 0); }, "of a basis: expected a finite number");
  expect_usage_error([] { symmetric_basis(8, 3e38F); }, "of a basis: expected a finite number");
  expect_usage_error([] { fixed_point_basis(2, -200); }, "of a basis: expected a finite number");
  expect_usage_error([] { range_basis(2, -kInfinity, 0); }, "low end of a basis");
  expect_usage_error([] { range_basis(2, 0, kInfinity); }, "high end of a basis");
}

}  // namespace
}  // namespace halftone::numerics
