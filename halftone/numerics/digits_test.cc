// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "halftone/numerics/basis.h"

namespace halftone::numerics {
namespace {

TEST(Digits, EvenlySpacedLevelsOfTwoBitsAreOne) {
  for (const float scale : {1.0F, 0.1F, 0.3F, 3e-5F}) {
    const auto digits = split_digits(numerics::affine_basis(2, scale, 1), 576);
    ASSERT_EQ(digits.size(), 1U) << scale;
    EXPECT_EQ(digits[0].num_planes(), 2U);
    EXPECT_EQ(digits[0].multiples, (std::array{1, 2}));
    EXPECT_EQ(digits[0].reach(), 3);
    EXPECT_FLOAT_EQ(digits[0].unit, 0.5F * scale);
  }
}

TEST(Digits, SmallRatiosAreFoundOthersAreNot) {
  const auto count = [](float a, float b) {
    return split_digits(numerics::make_basis(std::array{a, b}), 100).size();
  };
  EXPECT_EQ(count(0.75F, 0.5F), 1U);  // 3 : 2
  EXPECT_EQ(count(0.5F, 1.25F), 1U);  // 2 : 5
  EXPECT_EQ(count(0.5F, 0.5F), 1U);
  EXPECT_EQ(count(0.5F, 1.26F), 2U);
  EXPECT_EQ(count(0.25F, 1.75F), 2U);  // 1 : 7
  EXPECT_EQ(count(-0.5F, 1.0F), 2U);
  EXPECT_EQ(count(0.0F, 1.0F), 2U);
}

TEST(Digits, EveryPlaneIsInOne) {
  const auto digits = split_digits(numerics::affine_basis(5, 0.5F, 0), 100);
  ASSERT_EQ(digits.size(), 3U);
  std::vector<bool> seen(5);
  for (const Digit& digit : digits) {
    for (std::size_t k = 0; k < digit.num_planes(); ++k) seen.at(digit.planes[k]) = true;
  }
  EXPECT_EQ(seen, std::vector<bool>(5, true));
}

TEST(Digits, StayApartWhereTheirSumsWouldNotFit) {
  const numerics::Basis basis = numerics::affine_basis(2, 1, 0);
  EXPECT_EQ(split_digits(basis, 21845).size(), 1U);
  EXPECT_EQ(split_digits(basis, 21846).size(), 2U);
}

}  // namespace
}  // namespace halftone::numerics
