// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <utility>
#include <vector>

#include "halftone/kernels/int8_matmul/int8_weights.h"
#include "halftone/numerics/systems.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

TEST(LevelGrid, IsExactForEvenlySpacedLevels) {
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    const int last = (1 << bits) - 1;
    const int steps = numerics::weight_steps(bits);
    const LevelGrid grid = weight_grid(numerics::affine_basis(bits, 0.5F, 3));
    EXPECT_LE(steps, bits <= 4 ? 127 : 255);
    EXPECT_GE(steps, bits <= 4 ? 120 : 248);
    for (int code = 0; code <= last; ++code) {
      EXPECT_EQ(grid.u[static_cast<std::size_t>(code)], code * (steps / last)) << bits;
    }
    EXPECT_EQ(grid.center, 0.5F * (static_cast<float>(last) / 2 - 3));
    EXPECT_EQ(grid.half_step, 0.25F * static_cast<float>(last) / static_cast<float>(steps));
  }
}

TEST(LevelGrid, OfOneLevelIsThatLevel) {
  const LevelGrid grid = weight_grid(numerics::range_basis(2, 0.75F, 0.75F));
  EXPECT_THAT(grid.u, testing::Each(0));
  EXPECT_EQ(grid.center, 0.75F);
  EXPECT_EQ(grid.half_step, 0);
}

TEST(LevelGrid, OfWeightsIsSumsOfIntegerCoefficients) {
  Random random(20);
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    for (int round = 0; round < 50; ++round) {
      const numerics::Basis basis = numerics::random_basis(random, bits, round % 2 == 0);
      const int steps = numerics::weight_steps(bits);
      const auto k = numerics::integer_coefficients(basis, steps);
      const LevelGrid grid = weight_grid(basis);
      int sum = 0;
      for (std::size_t j = 0; j < basis.a().size(); ++j) {
        sum += std::abs(k[j]);
        EXPECT_NEAR(static_cast<float>(k[j]) * grid.half_step, basis.a()[j], grid.half_step);
      }
      EXPECT_EQ(sum, steps);
      for (std::size_t code = 0; code < basis.num_levels(); ++code) {
        const int level = 2 * grid.u[code] - steps;
        int summed = 0;
        for (std::size_t j = 0; j < basis.a().size(); ++j) {
          summed += (code >> j & 1) != 0 ? k[j] : -k[j];
        }
        if (bits <= numerics::kMaxSummedBits) {
          EXPECT_EQ(level, summed);
        }
        const int off = bits <= numerics::kMaxSummedBits ? bits : 1;
        EXPECT_NEAR(grid.center + grid.half_step * static_cast<float>(level),
                    basis.value(static_cast<numerics::Code>(code)),
                    (static_cast<float>(off) + 1e-3F) * grid.half_step);
      }
    }
  }
}

TEST(CommonFactor, IsThatOfEvenlySpacedLevelsOfFewBits) {
  const auto factor = [](const numerics::Basis& basis) {
    return common_factor(numerics::tensor_encoding(basis));
  };
  EXPECT_EQ(factor(numerics::affine_basis(4, 2, 1)), 8);
  EXPECT_EQ(factor(numerics::affine_basis(3, 2, 1)), 18);
  EXPECT_EQ(factor(numerics::affine_basis(2, 2, 1)), 42);
  EXPECT_EQ(factor(numerics::make_basis({{3.0F}}, 1)), 127);
  EXPECT_EQ(factor(numerics::affine_basis(5, 2, 1)), 1);
  EXPECT_EQ(factor(numerics::make_basis({{3.0F, 1.0F}}, 0)), 1);
}

/// Codebooks whose levels are multiples of a step.
std::vector<numerics::Levels> levels_of_multiples() {
  std::vector<numerics::Levels> all;
  for (const auto& [name, bits] :
       {std::pair{"int_narrow", 5}, std::pair{"int_narrow", 8}, std::pair{"int", 7},
        std::pair{"ternary", 2}, std::pair{"e2m1", 4}, std::pair{"e2m3", 6}}) {
    const auto codebook = codebook_of(numerics::find_system(name), bits);
    all.emplace_back(codebook, 0.25F, codebook->bits() == 7 ? 3.0F : 0.0F);
  }
  return all;
}

TEST(LevelGrid, IsExactForCodebooksOfMultiplesOfAStep) {
  for (const numerics::Levels& levels : levels_of_multiples()) {
    const LevelGrid grid = weight_grid(levels);
    const int steps = levels.codebook()->weight_steps();
    EXPECT_LE(steps, levels.bits() <= 4 ? 127 : 255);
    const Int8Levels integers(levels);
    for (const numerics::Code code : levels.codebook()->codes()) {
      const float level = levels.value(code);
      const float range = 2 * grid.half_step * static_cast<float>(steps);
      EXPECT_NEAR(grid.center + grid.half_step * static_cast<float>(2 * grid.u[code] - steps),
                  level, 4 * 0x1p-24F * range)
          << levels.codebook()->name();
      EXPECT_NEAR(integers.offset + integers.scale * static_cast<float>(integers.q[code]), level,
                  4 * 0x1p-24F * range)
          << levels.codebook()->name();
    }
  }
}

TEST(Int8Levels, AreTheLevelsWithinHalfAStep) {
  Random random(19);
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    for (const auto& basis :
         {numerics::random_basis(random, bits, true), numerics::random_basis(random, bits, false),
          numerics::affine_basis(bits, 0.25F, 1)}) {
      const Int8Levels levels(basis);
      float range = 0;
      for (const float a : basis.a()) range += 2 * std::abs(a);
      EXPECT_LE(levels.scale, range / 239) << bits;
      for (std::size_t code = 0; code < basis.num_levels(); ++code) {
        const float level = basis.value(static_cast<numerics::Code>(code));
        const float decoded = levels.offset + levels.scale * static_cast<float>(levels.q[code]);
        EXPECT_GE(levels.q[code], bits < 8 ? -127 : -128);
        EXPECT_NEAR(decoded, level, 0.5001F * levels.scale) << bits;
        if (basis == numerics::affine_basis(bits, 0.25F, 1)) {
          EXPECT_NEAR(decoded, level, 1e-6F * range) << bits;
        }
      }
    }
  }
}

}  // namespace
}  // namespace halftone::kernels
