// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/model/rotary_tables.h"

#include <cmath>

#include "halftone/base/testing.h"

namespace halftone::lm {
namespace {

Description of_pairs(std::size_t pairs) {
  Description d;
  d.rotary_dims = 2 * pairs;
  return d;
}

/// Functions of base/elementary.h are within 2^-50, so rounding to float32 dominates: half of a
/// unit in the last place of numbers up to `factor`.
void expect_angle(const RotaryTables& tables, std::size_t at, double angle, double factor = 1) {
  const double bound = factor * std::ldexp(1.0, -24);
  EXPECT_NEAR(tables.cos.as<float>()[at], factor * std::cos(angle), bound);
  EXPECT_NEAR(tables.sin.as<float>()[at], factor * std::sin(angle), bound);
}

TEST(RotaryTables, HoldCosAndSinOfEveryPosition) {
  const RotaryTables tables = rotary_tables(of_pairs(2), {.base = 100}, 5);
  EXPECT_EQ(tables.cos.shape(), (ir::Shape{5, 2}));
  EXPECT_EQ(tables.sin.shape(), (ir::Shape{5, 2}));
  for (std::size_t position = 0; position < 5; ++position) {
    expect_angle(tables, 2 * position, static_cast<double>(position));
    expect_angle(tables, 2 * position + 1, static_cast<double>(position) / 10);
  }
}

TEST(RotaryTables, DividePositions) {
  Description d = of_pairs(2);
  d.rotary_factor = 1.5;
  d.original_context = 4;
  const RotaryAngles angles{.base = 100, .divisors = {1, 2}, .long_divisors = {4, 8}};
  const RotaryTables near = rotary_tables(d, angles, 4);
  expect_angle(near, 2 * 3, 3, 1.5);
  expect_angle(near, 2 * 3 + 1, 3.0 / 20, 1.5);
  const RotaryTables far = rotary_tables(d, angles, 5);
  expect_angle(far, 2 * 3, 3.0 / 4, 1.5);
  expect_angle(far, 2 * 3 + 1, 3.0 / 80, 1.5);
}

/// 8 pairs of base 10000 and 64 positions: pair i turns 10.2 / 10^(i / 2) times, so that fast ones
/// end at -0.01 -> 0 and slow ones at 2.02 -> 3 with 10.3 and 1 turns.
TEST(RotaryTables, YarnInterpolatesBetweenFastAndSlowPairs) {
  const std::vector<double> found =
      yarn_divisors({.factor = 4, .fast_turns = 10.3, .slow_turns = 1}, 10000, 16, 64);
  ASSERT_EQ(found.size(), 8U);
  EXPECT_EQ(found[0], 1);
  EXPECT_DOUBLE_EQ(found[1], 1 / (1.0 / 3 / 4 + 2.0 / 3));
  EXPECT_DOUBLE_EQ(found[2], 1 / (2.0 / 3 / 4 + 1.0 / 3));
  EXPECT_EQ(found[3], 4);
  EXPECT_EQ(found[7], 4);
}

TEST(RotaryTables, DynamicBaseGrowsWithTheContext) {
  Description d = of_pairs(2);
  d.original_context = 4;
  const RotaryAngles angles{.base = 100, .dynamic_factor = 2};
  expect_angle(rotary_tables(d, angles, 4), 2 * 3 + 1, 3.0 / 10);
  // (2 * 8 / 4 - 1)^(4 / 2) = 9 times the base.
  expect_angle(rotary_tables(d, angles, 8), 2 * 3 + 1, 3.0 / 30);
}

}  // namespace
}  // namespace halftone::lm
