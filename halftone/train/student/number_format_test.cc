// SPDX-License-Identifier: Apache-2.0
#include <ATen/ATen.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/train/student/format_rounding.h"

namespace halftone::train {
namespace {

at::Tensor random_numbers(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  at::Tensor x = at::empty({count}, at::TensorOptions(at::kFloat));
  for (std::int64_t i = 0; i < count; ++i) {
    x.data_ptr<float>()[i] = static_cast<float>(random.normal());
  }
  return x;
}

TEST(NumberFormat, IsReadAndWritten) {
  for (const char* text :
       {"fp32", "fp16", "bf16", "e4m3", "e5m2", "e3m2", "e2m3", "e2m1", "int2", "int16"}) {
    EXPECT_EQ(to_string(parse_number_format(text)), text);
  }
}

TEST(NumberFormat, IsReadFromItsName) {
  EXPECT_EQ(parse_number_format("fp32"), NumberFormat(Float32{}));
  EXPECT_EQ(parse_number_format("fp16"), NumberFormat(numerics::kBinary16));
  EXPECT_EQ(parse_number_format("bf16"), NumberFormat(numerics::kE8M7));
  EXPECT_EQ(parse_number_format("e4m3"), NumberFormat(numerics::kE4M3));
  EXPECT_EQ(parse_number_format("e5m2"), NumberFormat(numerics::kE5M2));
  EXPECT_EQ(parse_number_format("e3m2"), NumberFormat(numerics::kE3M2));
  EXPECT_EQ(parse_number_format("e2m3"), NumberFormat(numerics::kE2M3));
  EXPECT_EQ(parse_number_format("e2m1"), NumberFormat(numerics::kE2M1));
  EXPECT_EQ(parse_number_format("int2"), NumberFormat(ScaledIntegers{2}));
  EXPECT_EQ(parse_number_format("int16"), NumberFormat(ScaledIntegers{16}));
}

TEST(NumberFormat, OfAnotherNameIsRefusedWithAllThereAre) {
  for (const std::string text :
       {"", "fp8", "FP16", "int", "int1", "int17", "int-4", "int4x", "int 4", "int99999999999"}) {
    expect_error(ErrorKind::kUsage,
                 "expected fp32, fp16, bf16, e4m3, e5m2, e3m2, e2m3, e2m1 or int2 to int16, "
                 "found '" +
                     text + "'",
                 [&] { parse_number_format(text); });
  }
}

TEST(NumberFormat, OfFloat32RoundsNothing) {
  const at::Tensor x = random_numbers(100, 1);
  EXPECT_TRUE(rounded_to_nearest(Float32{}, x).equal(x));
  EXPECT_TRUE(rounded_stochastically(Float32{}, x, 5).equal(x));
}

TEST(NumberFormat, OfAMinifloatRoundsAsThatDoes) {
  const at::Tensor x = 1000 * random_numbers(500, 2);
  const at::Tensor nearest = rounded_to_nearest(numerics::kE4M3, x);
  const at::Tensor stochastic = rounded_stochastically(numerics::kE4M3, x, 17);
  Random random(17);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const float number = x.data_ptr<float>()[i];
    ASSERT_EQ(nearest.data_ptr<float>()[i], numerics::round_to_nearest(numerics::kE4M3, number));
    const auto draw = static_cast<std::uint32_t>(random.next() >> 32);
    ASSERT_EQ(stochastic.data_ptr<float>()[i],
              numerics::round_stochastically(numerics::kE4M3, number, draw));
  }
}

TEST(NumberFormat, OfIntegersHasEvenStepsUpToTheLargest) {
  const at::Tensor x = at::tensor({-7.0F, 3.4F, 3.6F, 0.0F, 0.5F, 1.5F, -2.5F, -0.4F});
  const at::Tensor expected = at::tensor({-7.0F, 3.0F, 4.0F, 0.0F, 0.0F, 2.0F, -2.0F, 0.0F});
  EXPECT_TRUE(rounded_to_nearest(ScaledIntegers{4}, x).equal(expected));
  EXPECT_TRUE(rounded_to_nearest(ScaledIntegers{4}, 0.125 * x).equal(0.125 * expected));
  for (int bits = 2; bits <= 16; ++bits) {
    const at::Tensor numbers = random_numbers(3000, 3);
    const float most = numbers.abs().max().item<float>();
    const double step = static_cast<double>(most) / ((1 << (bits - 1)) - 1);
    const at::Tensor nearest = rounded_to_nearest(ScaledIntegers{bits}, numbers);
    const at::Tensor stochastic = rounded_stochastically(ScaledIntegers{bits}, numbers, 4);
    EXPECT_EQ(nearest.abs().max().item<float>(), most);
    EXPECT_EQ(stochastic.abs().max().item<float>(), most);
    for (std::int64_t i = 0; i < numbers.numel(); ++i) {
      const double number = static_cast<double>(numbers.data_ptr<float>()[i]);
      // The results are rounded to float32.
      const double slack = std::abs(number) * 0x1p-23;
      const double y = static_cast<double>(nearest.data_ptr<float>()[i]);
      ASSERT_NEAR(y, std::nearbyint(number / step) * step, slack);
      const double z = static_cast<double>(stochastic.data_ptr<float>()[i]);
      ASSERT_NEAR(z, std::nearbyint(z / step) * step, slack + step * 0x1p-22);
      ASSERT_LE(std::abs(z - number), step * (1 + 0x1p-22) + slack);
    }
  }
}

// As for Minifloat: the mean of n is off by a 20th of a step with a probability of 1e-43.
TEST(NumberFormat, OfIntegersIsRightOnAverage) {
  constexpr std::int64_t kDraws = 20000;
  for (const double steps : {0.02, 0.5, -0.3, 2.25, -6.9}) {
    at::Tensor x = at::full({kDraws + 1}, steps, at::TensorOptions(at::kFloat));
    x[kDraws] = 7;
    const at::Tensor y = rounded_stochastically(ScaledIntegers{4}, x, 9).narrow(0, 0, kDraws);
    EXPECT_NEAR(y.to(at::kDouble).mean().item<double>(), steps, 0.05);
  }
}

TEST(NumberFormat, OfIntegersLeavesAloneWhatHasNoScale) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(rounded_to_nearest(ScaledIntegers{4}, at::zeros({3})).equal(at::zeros({3})));
  EXPECT_EQ(rounded_to_nearest(ScaledIntegers{4}, at::empty({0})).numel(), 0);
  const at::Tensor x = at::tensor({0.3F, -infinity, 1.0F});
  EXPECT_TRUE(rounded_stochastically(ScaledIntegers{4}, x, 1).equal(x));
  const at::Tensor y = rounded_to_nearest(ScaledIntegers{4}, at::tensor({0.3F, nan, 1.0F}));
  EXPECT_EQ(y[0].item<float>(), 0.3F);
  EXPECT_TRUE(std::isnan(y[1].item<float>()));
}

TEST(NumberFormat, RoundsACopyWhateverTheStrides) {
  const at::Tensor whole = random_numbers(240, 5).reshape({2, 3, 40});
  for (const at::Tensor& x : {whole.transpose(1, 2), whole.slice(2, 3, 30, 2),
                              whole.narrow(0, 0, 1).expand({4, 3, 40})}) {
    const at::Tensor before = x.contiguous();
    const at::Tensor expected = rounded_to_nearest(numerics::kE5M2, before);
    EXPECT_TRUE(rounded_to_nearest(numerics::kE5M2, x).equal(expected));
    EXPECT_TRUE(x.equal(before));
  }
}

TEST(NumberFormat, DrawsOtherNumbersForEverySeedAndPlace) {
  const at::Tensor x = random_numbers(200, 6);
  const auto rounded = [&](std::uint64_t seed) {
    return rounded_stochastically(ScaledIntegers{3}, x, seed);
  };
  EXPECT_TRUE(rounded(1).equal(rounded(1)));
  EXPECT_FALSE(rounded(1).equal(rounded(2)));
  std::set<std::uint64_t> seeds;
  for (std::uint64_t seed = 0; seed < 4; ++seed) {
    for (std::uint64_t step = 0; step < 8; ++step) {
      for (std::uint64_t part = 0; part < 8; ++part) seeds.insert(seed_of(seed, {step, part}));
    }
  }
  EXPECT_EQ(seeds.size(), 4U * 8 * 8);
  EXPECT_EQ(seed_of(3, {1, 2}), seed_of(3, {1, 2}));
}

}  // namespace
}  // namespace halftone::train
