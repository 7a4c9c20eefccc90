// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/rotated_codes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/numerics/test_data.h"

namespace halftone::numerics {
namespace {

using testing::Each;
using testing::IsNan;

constexpr float kHalfUlp = 0x1p-24F;

/// H x / sqrt(b) by the definition, in float64.
std::vector<double> rotated_reference(const std::vector<float>& x, std::size_t block) {
  std::vector<double> y(x.size());
  for (std::size_t i = 0; i < x.size(); ++i) {
    for (std::size_t j = 0; j < block; ++j) {
      const double value = x[i / block * block + j];
      y[i] += std::popcount(i % block & j) % 2 == 0 ? value : -value;
    }
    y[i] /= std::sqrt(static_cast<double>(block));
  }
  return y;
}

std::vector<float> decoded(const NibbleGroup& group, const std::vector<std::uint8_t>& codes) {
  std::vector<float> y;
  for (const std::uint8_t code : codes) {
    y.push_back(static_cast<float>(code) * group.unit() + group.first());
  }
  return y;
}

std::vector<float> encoded_and_decoded(const std::vector<float>& x) {
  std::vector<std::uint8_t> codes(x.size());
  const NibbleGroup group = encode_nibbles(x, codes);
  EXPECT_LE(std::ranges::max(codes), NibbleGroup::kMaxCode);
  return decoded(group, codes);
}

TEST(RotateBlocks, MultipliesByHadamardMatrices) {
  struct Case {
    std::size_t size;
    std::size_t block;
  };
  Random random(1);
  for (const auto& [size, block] : {Case{1, 1}, Case{2, 2}, Case{37, 1}, Case{48, 16}, Case{64, 64},
                                    Case{80, 16}, Case{96, 32}, Case{192, 64}, Case{256, 256}}) {
    const std::vector<float> x = random_floats(random, size);
    std::vector<float> y = x;
    rotate_blocks(y);
    const std::vector<double> expected = rotated_reference(x, block);
    const float largest =
        std::abs(*std::ranges::max_element(x, {}, [](float value) { return std::abs(value); }));
    // log2 b sums of numbers up to b largest, then a factor of 1 / sqrt(b), itself rounded.
    const auto b = static_cast<float>(block);
    const float bound = largest * std::sqrt(b) * (std::log2(b) + 2) * kHalfUlp * 1.01F;
    for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(y[i], expected[i], bound) << size;
    rotate_blocks(y);
    for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(y[i], x[i], 2 * std::sqrt(b) * bound);
  }
}

TEST(RotateBlocks, SpreadsAnOutlier) {
  std::vector<float> x(16);
  x[5] = 8;
  rotate_blocks(x);
  for (const float value : x) EXPECT_EQ(std::abs(value), 2);
}

TEST(EncodeNibbles, KeepsNumbersThatAreCodes) {
  std::vector<float> x;
  for (int i = 0; i < 16; ++i) x.push_back(static_cast<float>(i - 4) * 0.25F);
  std::vector<std::uint8_t> codes(16);
  const NibbleGroup group = encode_nibbles(x, codes);
  EXPECT_EQ(group.unit(), 0.25F);
  EXPECT_EQ(group.offset, -32);
  EXPECT_EQ(decoded(group, codes), x);
  EXPECT_THAT(encoded_and_decoded(std::vector<float>(32)), Each(0.0F));
}

TEST(EncodeNibbles, ErrsByLessThanAUnitOfTheRange) {
  Random random(2);
  for (const std::size_t size : {1U, 2U, 7U, 16U, 31U, 32U}) {
    for (const float shift : {0.0F, 0.7F, -30.0F, 400.0F}) {
      std::vector<float> x = random_floats(random, size);
      for (float& value : x) value += shift;
      const auto [least, largest] = std::ranges::minmax(x);
      // The least unit that reaches the numbers, and their middle, is at most an eighth larger; the
      // first number moves by a sixteenth of a unit.
      const float reached = std::max(largest / 23.3F, -least / 8.4F);
      const float unit = 1.125F * std::max({(largest - least) / 15, reached, 0x1p-20F});
      const std::vector<float> y = encoded_and_decoded(x);
      double error = 0;
      for (std::size_t i = 0; i < size; ++i) error += std::pow(double{x[i]} - double{y[i]}, 2);
      const double each = (0.5 + 1.0 / 16) * double{unit} * 1.0001;
      // Numbers behind the last one are copies of it, and count when a range is chosen.
      EXPECT_LE(error, 32 * each * each) << size << " " << shift;
    }
  }
}

TEST(EncodeNibbles, HasLessErrorThanTheWholeRangeForNormalNumbers) {
  Random random(3);
  double error = 0;
  double whole = 0;
  for (int group = 0; group < 200; ++group) {
    std::vector<float> x;
    for (int i = 0; i < 32; ++i) x.push_back(static_cast<float>(random.normal()));
    const std::vector<float> y = encoded_and_decoded(x);
    const auto [least, largest] = std::ranges::minmax(x);
    const double step = double{largest - least} / 15;
    whole += step * step / 12 * 32;  // of numbers spread evenly within a step
    for (std::size_t i = 0; i < x.size(); ++i) error += std::pow(double{x[i]} - double{y[i]}, 2);
  }
  // Units are rounded up by 6 % on average, which shorter ranges make up for.
  EXPECT_LT(error, 1.02 * whole);
  EXPECT_GT(error, 0.8 * whole);
}

TEST(EncodeNibbles, MarksGroupsThatHaveNoNumbers) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (const float bad : {kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN()}) {
    EXPECT_THAT(encoded_and_decoded({1, bad, 2}), Each(IsNan()));
  }
}

TEST(EncodeNibbles, LimitsExtremeNumbers) {
  const std::vector<float> y = encoded_and_decoded({3e38F, -3e38F, 1e-41F});
  EXPECT_GT(y[0], 2.4e4F);
  EXPECT_LT(y[1], -2.4e4F);
  for (const float small : encoded_and_decoded({1e-41F, -1e-41F})) {
    EXPECT_LE(std::abs(small), 0x1p-21F);  // half of the least unit
  }
}

}  // namespace
}  // namespace halftone::numerics
