// SPDX-License-Identifier: Apache-2.0
#include "halftone/numerics/stored_numbers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/numerics/encoding.h"

namespace halftone::numerics {
namespace {

constexpr std::array kAllTypes{NumberType::kFloat32, NumberType::kFloat16, NumberType::kBfloat16,
                               NumberType::kE8m0,    NumberType::kE4m3,    NumberType::kE3m5,
                               NumberType::kUint4,   NumberType::kUint6,   NumberType::kInt6,
                               NumberType::kInt8};

TEST(NumberType, IsFoundByItsName) {
  for (const NumberType type : kAllTypes) EXPECT_EQ(number_type_from(to_string(type)), type);
  EXPECT_FALSE(number_type_from("float8"));
}

TEST(NumberType, HasThePublishedRange) {
  struct Range {
    NumberType type;
    float smallest;
    float largest;
  };
  for (const auto& [type, least, most] :
       {Range{NumberType::kFloat32, 0x1p-149F, std::numeric_limits<float>::max()},
        Range{NumberType::kFloat16, 0x1p-24F, 65504},
        Range{NumberType::kBfloat16, 0x1p-133F, 0x1.fep127F},
        Range{NumberType::kE8m0, 0x1p-127F, 0x1p127F}, Range{NumberType::kE4m3, 0x1p-9F, 448},
        Range{NumberType::kE3m5, 1, 252}, Range{NumberType::kUint4, 1, 15},
        Range{NumberType::kUint6, 1, 63}, Range{NumberType::kInt6, 1, 31},
        Range{NumberType::kInt8, 1, 127}}) {
    EXPECT_EQ(smallest(type), least) << to_string(type);
    EXPECT_EQ(largest(type), most) << to_string(type);
    for (const double x : {double{least}, double{most}}) EXPECT_EQ(round_to(type, x), x);
    EXPECT_EQ(round_to(type, 1e300), most);
  }
}

TEST(StoredNumbers, HaveFactorsThatGiveTheLargestTheLargest) {
  StoredNumbers numbers(NumberType::kE4m3, 5, NumberType::kFloat32, {2});
  const std::vector<double> values{896, 3, 0, 0, -44.8};
  numbers.set_factors_for(values);
  EXPECT_EQ(numbers.num_factors(), 3U);
  EXPECT_EQ(numbers.factor(0), 2);
  EXPECT_EQ(numbers.factor(1), 1);
  EXPECT_EQ(numbers.factor_of(4), 0.1F);
  for (std::size_t i = 0; i < values.size(); ++i) numbers.set(i, values[i]);
  EXPECT_EQ(numbers[0], 896);
  EXPECT_EQ(numbers[1], 3);
  EXPECT_EQ(numbers[4], -448 * 0.1F);

  StoredNumbers one(NumberType::kUint6, 3, NumberType::kFloat16, {});
  one.set_factors_for(std::vector<double>{1, 2, 126});
  EXPECT_EQ(one.num_factors(), 1U);
  EXPECT_EQ(one.factor(0), 2);
  EXPECT_EQ(one.stored_bits(), 3U * 6 + 16);
}

TEST(StoredNumbers, BeginANewFactorInEveryRow) {
  // Two rows of five; factors of three and two.
  StoredNumbers numbers(NumberType::kUint6, 10, NumberType::kFloat16, {3, 5});
  EXPECT_EQ(numbers.num_factors(), 4U);
  const std::vector<double> values{-63, -1, 0, 126, 2, 0, 0, 0, -0.5, 31.5};
  numbers.set_factors_for(values);
  for (std::size_t i = 0; i < values.size(); ++i) numbers.set(i, values[i]);
  const std::vector<float> factors{-1, 2, 1, 0.5};
  for (std::size_t f = 0; f < factors.size(); ++f) EXPECT_EQ(numbers.factor(f), factors[f]);
  // Numbers of the other sign become zero.
  const std::vector<float> expected{-63, -1, 0, 126, 2, 0, 0, 0, 0, 31.5};
  for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(numbers[i], expected[i]) << i;
  EXPECT_EQ(numbers.stored_bits(), 10U * 6 + 4 * 16);
  const StoredNumbers second = numbers.slice(5, 5);
  EXPECT_EQ(second.num_factors(), 2U);
  for (std::size_t i = 0; i < 5; ++i) EXPECT_EQ(second[i], numbers[5 + i]);
  EXPECT_EQ(numbers.slice(5, 0).num_factors(), 0U);
}

TEST(StoredNumbers, HaveNoFactorOfZero) {
  for (const NumberType type : {NumberType::kFloat32, NumberType::kFloat16}) {
    StoredNumbers numbers(NumberType::kE4m3, 2, type, {});
    numbers.set_factors_for(std::vector<double>{1e-44, 0});
    EXPECT_GT(numbers.factor(0) * smallest(NumberType::kE4m3), 0);
  }
}

MatrixEncoding one_scale(StoredNumbers scales) {
  MatrixEncoding encoding;
  encoding.bits = 2;
  encoding.codebook = std::make_shared<const Codebook>("t", std::vector{-1.0F, 0.0F, 1.0F, 2.0F});
  encoding.scales = std::move(scales);
  return encoding;
}

TEST(StoredNumbers, AreNeverAScaleOfZero) {
  for (const NumberType type : kAllTypes) {
    MatrixEncoding encoding = one_scale(StoredNumbers(type, 1));
    encoding.set_scale(0, 1e-60);
    EXPECT_EQ(encoding.scales[0], smallest(type)) << to_string(type);
    if (has_sign(type)) {
      encoding.set_scale(0, -1e-60);
      EXPECT_EQ(encoding.scales[0], -smallest(type)) << to_string(type);
    }
    encoding.set_scale(0, 0);
    EXPECT_EQ(encoding.scales[0], least_scale(type)) << to_string(type);
    encoding.check(2, 2);
  }
  MatrixEncoding encoding =
      one_scale(StoredNumbers(NumberType::kE4m3, 1, NumberType::kFloat32, {}));
  encoding.scales.set_factor(0, 8);
  encoding.set_scale(0, 0);
  EXPECT_EQ(encoding.scales[0], 0x1p-6F);
}

}  // namespace
}  // namespace halftone::numerics
