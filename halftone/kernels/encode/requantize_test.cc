// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "halftone/base/random.h"
#include "halftone/kernels/encode/linear_codes.h"
#include "halftone/kernels/per_target.h"

namespace halftone::kernels {
namespace {

using Requantize = PerTarget;
using numerics::FixedMultiplier;
using Int = std::int32_t;

/// Sums of every magnitude, including the limits of the range.
std::vector<Int> random_sums(Random& random, std::size_t count) {
  std::vector<Int> sums = {0, 1, -1, std::numeric_limits<Int>::max(),
                           std::numeric_limits<Int>::min()};
  while (sums.size() < count) {
    const auto bits = static_cast<Int>(random.next());
    sums.push_back(bits >> random.below(32));
  }
  sums.resize(count);
  return sums;
}

template <typename Code>
void expect_reference(const std::vector<Int>& x, const Requantization& how) {
  std::vector<Code> found(x.size(), 99);
  std::vector<Code> wanted(x.size(), 98);
  requantize(x, how, found);
  requantize_reference(x, how, wanted);
  EXPECT_EQ(found, wanted) << x.size() << " sums, period " << how.period();
}

template <typename Code>
void expect_definition(const std::vector<Int>& x, const std::vector<FixedMultiplier>& multipliers,
                       CodeBounds bounds) {
  expect_reference<Code>(x, Requantization(multipliers, bounds));
}

constexpr SumRounding kOnce[] = {SumRounding::kHalfEven, SumRounding::kHalfAway};

TEST_P(Requantize, MatchesReferenceForEveryLengthAndShift) {
  Random random(51);
  for (std::size_t n = 0; n <= 70; ++n) {
    for (const Int shift : {-31, -30, -12, -7, -1, 0, 1, 9, 30}) {
      const Int mantissa = (1 << 30) + static_cast<Int>(random.below(1 << 30));
      expect_definition<std::int8_t>(random_sums(random, n), {{mantissa, shift}}, {5, -100, 127});
      expect_definition<std::uint8_t>(random_sums(random, n), {{mantissa, shift}}, {9, 9, 255});
    }
  }
}

TEST_P(Requantize, HasAMultiplierForEachColumn) {
  Random random(52);
  for (const std::size_t cols : {1U, 2U, 3U, 10U, 16U, 17U, 24U, 64U}) {
    std::vector<FixedMultiplier> multipliers;
    for (std::size_t o = 0; o < cols; ++o) {
      multipliers.push_back({static_cast<Int>(random.below(std::uint64_t{1} << 31)),
                             static_cast<Int>(random.below(40)) - 31});
    }
    expect_definition<std::int8_t>(random_sums(random, 7 * cols), multipliers, {-3});
  }
}

// Steps of 2^-s over every rounding position, on both sides of zero, which includes all ties.
TEST_P(Requantize, RoundsTiesLikeTheReference) {
  for (Int shift = 0; shift >= -6; --shift) {
    std::vector<Int> sums;
    for (Int x = -300; x <= 300; ++x) sums.push_back(x);
    expect_definition<std::int8_t>(sums, {{1 << 30, shift}}, {});
    expect_definition<std::int8_t>(sums, {numerics::fixed_multiplier(0.3 * std::exp2(shift))}, {});
  }
}

TEST_P(Requantize, RoundsOnceForEveryLengthAndSize) {
  Random random(53);
  for (const SumRounding rounding : kOnce) {
    for (std::size_t n = 0; n <= 70; ++n) {
      for (const double m : {1e-300, 3e-9, 0.0004, 0.07, 1.0, 2.5, 1e9, 1e300}) {
        const double one[] = {m};
        expect_reference<std::int8_t>(random_sums(random, n), {one, {5, -100, 127}, rounding});
        expect_reference<std::uint8_t>(random_sums(random, n), {one, {9, 9, 255}, rounding});
      }
    }
  }
}

TEST_P(Requantize, RoundsOnceWithAMultiplierForEachColumn) {
  Random random(54);
  for (const SumRounding rounding : kOnce) {
    for (const std::size_t cols : {2U, 3U, 10U, 16U, 17U, 24U, 64U}) {
      std::vector<double> multipliers;
      for (std::size_t o = 0; o < cols; ++o) {
        multipliers.push_back(std::exp2(-static_cast<double>(random.below(32))) * 0.7);
      }
      expect_reference<std::int8_t>(random_sums(random, 7 * cols), {multipliers, {-3}, rounding});
    }
  }
}

// Halves of odd numbers: 0.5, 1.5, -0.5, -2.5 become 0, 2, 0, -2 to even, 1, 2, -1, -3 away.
TEST_P(Requantize, RoundsTiesOnceToEvenOrAway) {
  const std::vector<Int> sums = {1, 3, -1, -5, 254, 255, -256, -257, 300, -300};
  const double half[] = {0.5};
  std::vector<std::int8_t> q(sums.size());
  requantize(sums, {half, {}, SumRounding::kHalfEven}, q);
  EXPECT_EQ(q, (std::vector<std::int8_t>{0, 2, 0, -2, 127, 127, -128, -128, 127, -128}));
  requantize(sums, {half, {}, SumRounding::kHalfAway}, q);
  EXPECT_EQ(q, (std::vector<std::int8_t>{1, 2, -1, -3, 127, 127, -128, -128, 127, -128}));
  requantize(sums, {half, {1}, SumRounding::kHalfEven}, q);
  EXPECT_EQ(q, (std::vector<std::int8_t>{1, 3, 1, -1, 127, 127, -127, -127, 127, -128}));
}

HALFTONE_INSTANTIATE_PER_TARGET(Requantize);

}  // namespace
}  // namespace halftone::kernels
