// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/integer_grid.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <span>
#include <vector>

#include "halftone/numerics/test_data.h"

namespace halftone::numerics {
namespace {

TEST(IntegerCoefficients, AddUpToTheStepsWithTheirSigns) {
  const auto k = [](std::span<const float> a, int steps) {
    const auto all = integer_coefficients(make_basis(a), steps);
    return std::vector<int>(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(a.size()));
  };
  EXPECT_THAT(k(std::array{3.0F, -1.0F}, 120), testing::ElementsAre(90, -30));
  EXPECT_THAT(k(std::array{1.0F, 1.0F, 1.0F}, 127), testing::ElementsAre(42, 42, 43));
  EXPECT_THAT(k(std::array{1.0F, 1e-9F}, 126), testing::ElementsAre(126, 0));
  EXPECT_THAT(k(std::array{0.0F, 0.0F}, 126), testing::ElementsAre(0, 0));
  EXPECT_THAT(k(std::array{3e38F, 3e38F}, 126), testing::ElementsAre(63, 63));
}

TEST(OnIntegerGrid, MovesNoCoefficientByAStepAndStaysThere) {
  Random random(21);
  for (int bits = 1; bits <= kMaxBits; ++bits) {
    for (int round = 0; round < 50; ++round) {
      const Basis basis = random_basis(random, bits, round % 2 == 0);
      const Basis rounded = on_integer_grid(basis);
      const int steps = weight_steps(bits);
      float range = 0;
      for (const float a : basis.a()) range += std::abs(a);
      const float half_step = range / static_cast<float>(steps);
      for (std::size_t j = 0; j < basis.a().size(); ++j) {
        EXPECT_NEAR(rounded.a()[j], basis.a()[j], half_step);
      }
      EXPECT_EQ(rounded.offset, basis.offset);
      if (bits < 3 || bits > kMaxSummedBits) {
        EXPECT_EQ(rounded, basis);
        continue;
      }
      EXPECT_EQ(integer_coefficients(rounded, steps), integer_coefficients(basis, steps));
      for (std::size_t j = 0; j < basis.a().size(); ++j) {
        const float number = rounded.a()[j] / half_step;
        EXPECT_NEAR(number, std::round(number), 256 * 0x1p-23F * std::abs(number));
      }
    }
  }
}

TEST(OnIntegerGrid, LeavesEvenlySpacedLevelsAlone) {
  for (int bits = 1; bits <= kMaxBits; ++bits) {
    const Basis even = affine_basis(bits, 0.25F, 1);
    EXPECT_EQ(on_integer_grid(even), even);
  }
}

}  // namespace
}  // namespace halftone::numerics
