// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/scale_rule.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/numerics/codebooks.h"

namespace halftone::numerics {
namespace {

ValueRange range_of(const std::vector<float>& values) {
  ValueRange range;
  range.add(values);
  return range;
}

double scale(const Codebook& codebook, ScaleRule rule, const std::vector<float>& values) {
  return block_scale(codebook, rule, range_of(values)).scale;
}

TEST(ValueRange, IgnoresWhatIsNotFinite) {
  const ValueRange range = range_of({kNan, -3, kInfinity, 2, -kInfinity});
  EXPECT_EQ(range.low, -3);
  EXPECT_EQ(range.high, 2);
  EXPECT_EQ(range.magnitude(), 3);
  EXPECT_TRUE(range_of({}).is_empty());
  EXPECT_TRUE(range_of({kNan}).is_empty());
  EXPECT_EQ(range_of({kNan}).magnitude(), 0);
  EXPECT_FALSE(range_of({0}).is_empty());
}

TEST(ValueRange, FindsTheEndsWhereverTheyAre) {
  for (std::size_t size = 1; size <= 19; ++size) {
    for (std::size_t at = 0; at < size; ++at) {
      for (const float other : {0.5F, kNan, kInfinity, -kInfinity}) {
        std::vector<float> values(size, 1);
        values[(at + 5) % size] = other;
        values[at] = -3;
        ValueRange range = range_of(values);
        std::erase_if(values, [](float x) { return !std::isfinite(x); });
        EXPECT_EQ(range.low, -3);
        EXPECT_EQ(range.high, *std::ranges::max_element(values));
        range.add(std::vector<float>(size, 7));
        EXPECT_EQ(range.low, -3);
        EXPECT_EQ(range.high, 7);
      }
    }
  }
}

TEST(BlockScale, OfTheLargestMagnitudeIsThatOverTheLargestLevel) {
  const Codebook integers = signed_integers("t", 4);
  EXPECT_EQ(scale(integers, ScaleRule::kLargest, {1, -3.5F}), 0.5);
  EXPECT_EQ(scale(Codebook("t", kE4M3), ScaleRule::kLargest, {224, 1}), 0.5);
  EXPECT_EQ(block_scale(integers, ScaleRule::kLargest, range_of({8}), 16).scale, 0.5);
  // One bit of two's complement has the levels -1 and 0.
  EXPECT_EQ(scale(signed_integers("t", 1), ScaleRule::kLargest, {3}), 3);
}

TEST(BlockScale, OfARangePutsTheEndsOnTheEnds) {
  const BlockScale block =
      block_scale(unsigned_integers("t", 2), ScaleRule::kRange, range_of({-1, 5, 2}));
  EXPECT_EQ(block.scale, 2);
  EXPECT_EQ(block.offset, -1);
  const BlockScale shifted =
      block_scale(signed_integers("t", 2), ScaleRule::kRange, range_of({-1, 5, 2}));
  EXPECT_EQ(shifted.scale, 2);
  EXPECT_EQ(shifted.offset, 3);
  const BlockScale equal = block_scale(unsigned_integers("t", 2), ScaleRule::kRange, range_of({7}));
  EXPECT_EQ(equal.scale, 0);
  EXPECT_EQ(equal.offset, 7);
}

TEST(BlockScale, OfARangeWithZeroExtendsItToZero) {
  const Codebook integers = zero_point_integers("t", 2);
  const auto block = [&](std::initializer_list<float> x) {
    return block_scale(integers, ScaleRule::kRangeWithZero, range_of(x));
  };
  EXPECT_EQ(block({-1, 5}).scale, 2);
  EXPECT_EQ(block({3, 6}).scale, 2);
  EXPECT_EQ(block({3, 6}).offset, 0);
  EXPECT_EQ(block({-6, -3}).scale, 2);
  EXPECT_EQ(block({-6, -3}).offset, -6);
  EXPECT_EQ(block({0}).scale, 0);
}

// OCP MX 1.0, table 1 and section 6.3: emax is 8, 15, 4, 2, 2 and 0.
TEST(BlockScale, OfPowersOfTwoIsTheRuleOfMx) {
  struct Element {
    Codebook codebook;
    int emax;
  };
  for (const auto& [codebook, emax] :
       {Element{Codebook("e4m3", kE4M3), 8}, Element{Codebook("e5m2", kE5M2), 15},
        Element{Codebook("e3m2", kE3M2), 4}, Element{Codebook("e2m3", kE2M3), 2},
        Element{Codebook("e2m1", kE2M1), 2}, Element{signed_fractions("int8", 8), 0}}) {
    for (const float x : {1.0F, 1.99F, 2.0F, 0x1.fffffep5F, 0x1p-140F, 0x1.8p100F}) {
      const double expected = std::exp2(std::floor(std::log2(double{x})) - emax);
      // log2 of the largest float32 below 64 is less than 6 in float64.
      EXPECT_EQ(scale(codebook, ScaleRule::kPowerOfTwo, {-x, x / 2}), expected)
          << codebook.name() << ' ' << x;
    }
  }
}

TEST(BlockScale, OfPowersOfTwoIsDynamicFixedPoint) {
  for (int bits = 2; bits <= 16; ++bits) {
    for (const float x : {0.3F, 1.0F, 7.9F, 1e-20F}) {
      const double e = std::floor(std::log2(double{x})) + 1 - (bits - 1);
      EXPECT_EQ(scale(signed_integers("t", bits), ScaleRule::kPowerOfTwo, {x, -x}), std::exp2(e));
    }
  }
}

TEST(BlockScale, OfZerosIsZeroAndThatOfAnotherUnitOne) {
  const Codebook codebook = signed_integers("t", 4);
  for (const ScaleRule rule : {ScaleRule::kLargest, ScaleRule::kRange, ScaleRule::kPowerOfTwo}) {
    EXPECT_EQ(scale(codebook, rule, {0, -0.0F}), 0);
    EXPECT_EQ(scale(codebook, rule, {}), 0);
    EXPECT_EQ(scale(codebook, rule, {kNan}), 0);
  }
  EXPECT_EQ(scale(codebook, ScaleRule::kUnit, {100}), 1);
  EXPECT_EQ(scale(codebook, ScaleRule::kUnit, {}), 1);
}

}  // namespace
}  // namespace halftone::numerics
