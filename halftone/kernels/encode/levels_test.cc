// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "halftone/kernels/encode/encode.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/codebooks.h"
#include "halftone/numerics/systems.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Levels = PerTarget;

/// Values around the levels, on the thresholds, and values that are unordered.
std::vector<float> hard_numbers(Random& random, const numerics::LevelTable& table,
                                std::size_t count) {
  const float infinity = std::numeric_limits<float>::infinity();
  std::vector<float> x = numerics::random_floats(random, count);
  for (float& value : x) {
    const std::uint64_t kind = random.below(8);
    if (kind == 0) value = table.thresholds()[random.below(table.thresholds().size())];
    if (kind == 1) value = random.below(2) == 0 ? infinity : -infinity;
    if (kind == 2) value = std::nanf("");
  }
  return x;
}

template <typename T>
void expect_same_bytes(const std::vector<T>& found, const std::vector<T>& expected) {
  EXPECT_TRUE(
      std::ranges::equal(std::as_bytes(std::span(found)), std::as_bytes(std::span(expected))));
}

void expect_defined(Random& random, int bits, std::size_t count) {
  SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(count) + " numbers");
  const auto a = numerics::random_floats(random, static_cast<std::size_t>(bits) + 1);
  const numerics::Levels basis = numerics::make_basis(std::span(a).subspan(1), a[0]);
  const numerics::LevelTable table(basis);
  const std::vector<float> x = hard_numbers(random, table, count);
  const std::vector<float> v = numerics::random_floats(random, count);
  std::vector<float> y(count);
  std::vector<float> y_expected(count);
  round_to_levels(x, table, y);
  round_to_levels_reference(x, table, y_expected);
  expect_same_bytes(y, y_expected);
  std::vector<float> in_place = x;
  round_to_levels(in_place, EncodeTable(basis), in_place);
  expect_same_bytes(in_place, y_expected);
  std::vector<double> sums(table.size(), 7);
  std::vector<double> sums_expected(table.size());
  sum_by_level(x, v, table, sums);
  sum_by_level_reference(x, v, table, sums_expected);
  expect_same_bytes(sums, sums_expected);
  std::vector<double> counts(table.size(), 7);
  std::vector<double> counts_expected(table.size());
  count_by_level(x, table, counts);
  for (const float value : x) counts_expected[table.index(value)] += 1;
  expect_same_bytes(counts, counts_expected);
  pass_between(x, -0.5F, 0.75F, v, y);
  pass_between_reference(x, -0.5F, 0.75F, v, y_expected);
  expect_same_bytes(y, y_expected);
}

TEST_P(Levels, MatchTheReference) {
  Random random(5);
  for (int bits = 1; bits <= numerics::kMaxBits; ++bits) {
    for (const std::size_t count : {0U, 1U, 15U, 16U, 17U, 100U, 4096U, 4097U, 9000U}) {
      expect_defined(random, bits, count);
    }
  }
}

TEST_P(Levels, OfEveryKindAreThoseOfTheTable) {
  Random random(6);
  for (const char* name : {"affine", "asymmetric", "e2m1", "e4m3", "e4m3_nan", "e5m2_nan", "nf4"}) {
    const auto& system = numerics::find_system(name);
    const auto codebook = numerics::codebook_of(system, system.min_bits == 1 ? 8 : system.min_bits);
    const numerics::Levels levels(codebook, 0.25F, system.has_offset ? -2.5F : 0);
    const numerics::LevelTable table(levels);
    const std::vector<float> x = hard_numbers(random, table, 1000);
    std::vector<float> y(x.size());
    std::vector<float> expected(x.size());
    round_to_levels(x, EncodeTable(levels), y);
    round_to_levels_reference(x, table, expected);
    SCOPED_TRACE(name);
    expect_same_bytes(y, expected);
  }
}

TEST_P(Levels, SumTheValuesAtTheEdges) {
  const numerics::LevelTable table(numerics::make_basis(std::vector<float>{1}));  // -1 and 1
  const std::vector<float> x{-3, 0, 0.001F, 5, std::nanf("")};
  const std::vector<float> v{1, 10, 100, 1000, 10000};
  std::vector<double> sums(2);
  sum_by_level(x, v, table, sums);
  EXPECT_EQ(sums, (std::vector<double>{10011, 1100}));
  std::vector<float> y(5);
  pass_between(x, -3, 5, v, y);
  EXPECT_EQ(y, (std::vector<float>{1, 10, 100, 1000, 0}));
}

// Codes of more than 8 bits; the reference sums them.
TEST_P(Levels, AreSummedHoweverManyThereAre) {
  const auto codebook =
      std::make_shared<const numerics::Codebook>(numerics::signed_integers("t", 12));
  const numerics::LevelTable table(numerics::Levels(codebook, 1, 0));
  std::vector<float> x;
  std::vector<double> expected(4096);
  for (int i = 0; i < 9000; ++i) {
    const int level = i * 7 % 4096;
    x.push_back(static_cast<float>(level - 2048));
    expected[static_cast<std::size_t>(level)] += 1;
  }
  std::vector<double> sums(4096, 7);
  sum_by_level(x, std::vector<float>(x.size(), 1), table, sums);
  EXPECT_EQ(sums, expected);
  count_by_level(x, table, sums);
  EXPECT_EQ(sums, expected);
}

TEST_P(Levels, OverflowWhereTheirSystemDoes) {
  const auto codebook = std::make_shared<const numerics::Codebook>("t", numerics::kE5M2,
                                                                   numerics::Overflow::kSpecial);
  const numerics::LevelTable table(numerics::Levels(codebook, 0.5F, 0));
  std::vector<float> y{28672, 30720, -1e6F, 0.3F, std::nanf("")};
  round_to_levels(y, table, y);  // in place
  EXPECT_EQ(y[0], 28672);
  EXPECT_EQ(y[1], std::numeric_limits<float>::infinity());
  EXPECT_EQ(y[2], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(y[3], 0.3125F);
  EXPECT_TRUE(std::isnan(y[4]));
}

HALFTONE_INSTANTIATE_PER_TARGET(Levels);

}  // namespace
}  // namespace halftone::kernels
