// SPDX-License-Identifier: Apache-2.0
#include "halftone/train/student/format_rounding.h"

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

using numerics::NumberFormat;
using numerics::parse_number_format;

NumberFormat integers(int bits) { return parse_number_format("int" + std::to_string(bits)); }

at::Tensor random_numbers(std::int64_t count, std::uint64_t seed) {
  Random random(seed);
  at::Tensor x = at::empty({count}, at::TensorOptions(at::kFloat));
  for (std::int64_t i = 0; i < count; ++i) {
    x.data_ptr<float>()[i] = static_cast<float>(random.normal());
  }
  return x;
}

TEST(FormatRounding, OfFloat32RoundsNothing) {
  const at::Tensor x = random_numbers(100, 1);
  EXPECT_TRUE(rounded_to_nearest(NumberFormat{}, x).equal(x));
  EXPECT_TRUE(rounded_stochastically(NumberFormat{}, x, 5).equal(x));
}

TEST(FormatRounding, OfAPlainFloatRoundsAsItsMinifloatDoes) {
  const at::Tensor x = 30000 * random_numbers(500, 2);
  const at::Tensor nearest = rounded_to_nearest(parse_number_format("fp16"), x);
  const at::Tensor stochastic = rounded_stochastically(parse_number_format("fp16"), x, 17);
  Random random(17);
  for (std::int64_t i = 0; i < x.numel(); ++i) {
    const float number = x.data_ptr<float>()[i];
    ASSERT_EQ(nearest.data_ptr<float>()[i],
              numerics::round_to_nearest(numerics::kBinary16, number));
    const auto draw = static_cast<std::uint32_t>(random.next() >> 32);
    ASSERT_EQ(stochastic.data_ptr<float>()[i],
              numerics::round_stochastically(numerics::kBinary16, number, draw));
  }
}

// One scale, which gives the largest magnitude the largest number of the format.
TEST(FormatRounding, OfASmallFloatScalesTheTensor) {
  for (const double size : {1e-6, 1.0, 1e8}) {
    const at::Tensor x = size * random_numbers(500, 2);
    const float scale = x.abs().max().item<float>() / 448;
    const at::Tensor nearest = rounded_to_nearest(parse_number_format("e4m3"), x);
    for (std::int64_t i = 0; i < x.numel(); ++i) {
      const float level =
          numerics::round_to_nearest(numerics::kE4M3, x.data_ptr<float>()[i] / scale);
      ASSERT_EQ(nearest.data_ptr<float>()[i], level * scale);
    }
  }
}

/// Each row of 32 numbers along the last axis by its own scale: a power of two.
at::Tensor rounded_groups(const at::Tensor& x) {
  const at::Tensor groups = x.reshape({-1, 32});
  const at::Tensor exponent = groups.abs().amax({1}, true).log2().floor() - 2;
  const at::Tensor scale = at::exp2(exponent);
  at::Tensor y = (groups / scale).contiguous();
  for (std::int64_t i = 0; i < y.numel(); ++i) {
    y.data_ptr<float>()[i] = numerics::round_to_nearest(numerics::kE2M1, y.data_ptr<float>()[i]);
  }
  return (y * scale).reshape(x.sizes());
}

TEST(FormatRounding, HasGroupsAlongTheLastAxisOrTheInputsOfAnOutput) {
  const NumberFormat mxfp4 = parse_number_format("mxfp4");
  const at::Tensor x = random_numbers(5 * 4 * 64, 7).reshape({5, 4, 64});
  EXPECT_TRUE(rounded_to_nearest(mxfp4, x).equal(rounded_groups(x)));
  const at::Tensor w = random_numbers(5 * 4 * 16, 8).reshape({5, 4, 16});
  const at::Tensor rows = w.reshape({5, 64});
  EXPECT_TRUE(rounded_to_nearest(mxfp4, w, TensorRows::kOutputs)
                  .equal(rounded_groups(rows).reshape({5, 4, 16})));
  EXPECT_FALSE(rounded_to_nearest(mxfp4, w).equal(rounded_groups(rows).reshape({5, 4, 16})));
}

TEST(FormatRounding, OfIntegersHasEvenStepsUpToTheLargest) {
  const at::Tensor x = at::tensor({-7.0F, 3.4F, 3.6F, 0.0F, 0.5F, 1.5F, -2.5F, -0.4F});
  const at::Tensor expected = at::tensor({-7.0F, 3.0F, 4.0F, 0.0F, 0.0F, 2.0F, -2.0F, 0.0F});
  EXPECT_TRUE(rounded_to_nearest(integers(4), x).equal(expected));
  EXPECT_TRUE(rounded_to_nearest(integers(4), 0.125 * x).equal(0.125 * expected));
  for (int bits = 2; bits <= 16; ++bits) {
    const at::Tensor numbers = random_numbers(3000, 3);
    const float most = numbers.abs().max().item<float>();
    const float scale = most / static_cast<float>((1 << (bits - 1)) - 1);
    const double step{scale};
    const at::Tensor nearest = rounded_to_nearest(integers(bits), numbers);
    const at::Tensor stochastic = rounded_stochastically(integers(bits), numbers, 4);
    // The largest magnitude is the largest integer times the step, rounded to float32.
    EXPECT_NEAR(nearest.abs().max().item<float>(), most, most * 0x1p-23F);
    for (std::int64_t i = 0; i < numbers.numel(); ++i) {
      const double number = static_cast<double>(numbers.data_ptr<float>()[i]);
      // Quotient and result are rounded to float32.
      const float steps = numbers.data_ptr<float>()[i] / scale;
      ASSERT_EQ(nearest.data_ptr<float>()[i], std::nearbyint(steps) * scale);
      const double slack = std::abs(number) * 0x1p-22;
      const double z = static_cast<double>(stochastic.data_ptr<float>()[i]);
      ASSERT_NEAR(z, std::nearbyint(z / step) * step, slack + step * 0x1p-22);
      ASSERT_LE(std::abs(z - number), step * (1 + 0x1p-22) + slack);
    }
  }
}

// As for Minifloat: the mean of n is off by a 20th of a step with a probability of 1e-43.
TEST(FormatRounding, OfIntegersIsRightOnAverage) {
  constexpr std::int64_t kDraws = 20000;
  for (const double steps : {0.02, 0.5, -0.3, 2.25, -6.9}) {
    at::Tensor x = at::full({kDraws + 1}, steps, at::TensorOptions(at::kFloat));
    x[kDraws] = 7;
    const at::Tensor y = rounded_stochastically(integers(4), x, 9).narrow(0, 0, kDraws);
    EXPECT_NEAR(y.to(at::kDouble).mean().item<double>(), steps, 0.05);
  }
}

TEST(FormatRounding, OfIntegersLeavesAloneWhatHasNoScale) {
  const float infinity = std::numeric_limits<float>::infinity();
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_TRUE(rounded_to_nearest(integers(4), at::zeros({3})).equal(at::zeros({3})));
  EXPECT_EQ(rounded_to_nearest(integers(4), at::empty({0})).numel(), 0);
  const at::Tensor x = at::tensor({0.3F, -infinity, 1.0F});
  EXPECT_TRUE(rounded_stochastically(integers(4), x, 1).equal(x));
  const at::Tensor y = rounded_to_nearest(integers(4), at::tensor({0.3F, nan, 1.0F}));
  EXPECT_EQ(y[0].item<float>(), 0.3F);
  EXPECT_TRUE(std::isnan(y[1].item<float>()));
}

TEST(FormatRounding, NeverHidesWhatIsNotFinite) {
  const float infinity = std::numeric_limits<float>::infinity();
  const at::Tensor x = at::tensor({0.3F, -infinity, 2.0F});
  const auto nearest = [&](const char* text) {
    return rounded_to_nearest(parse_number_format(text), x);
  };
  // Floats of 16 bits need no scale and saturate.
  EXPECT_TRUE(nearest("fp16").equal(
      at::tensor({numerics::round_to_nearest(numerics::kBinary16, 0.3F), -65504.0F, 2.0F})));
  for (const char* text : {"e4m3", "mxfp4", "posit8"}) EXPECT_TRUE(nearest(text).equal(x)) << text;
  const at::Tensor special = nearest("e4m3_nan");
  EXPECT_NE(special[0].item<float>(), 0.3F);
  EXPECT_TRUE(special[1].isnan().item<bool>());
  EXPECT_EQ(special[2].item<float>(), 2);
  EXPECT_EQ(nearest("e5m2_nan")[1].item<float>(), -infinity);
}

TEST(FormatRounding, RoundsACopyWhateverTheStrides) {
  const at::Tensor whole = random_numbers(240, 5).reshape({2, 3, 40});
  for (const at::Tensor& x : {whole.transpose(1, 2), whole.slice(2, 3, 30, 2),
                              whole.narrow(0, 0, 1).expand({4, 3, 40})}) {
    const at::Tensor before = x.contiguous();
    for (const char* text : {"e5m2", "mxfp4"}) {
      const NumberFormat format = parse_number_format(text);
      const at::Tensor expected = rounded_to_nearest(format, before);
      EXPECT_TRUE(rounded_to_nearest(format, x).equal(expected));
      EXPECT_TRUE(x.equal(before));
    }
  }
}

TEST(FormatRounding, DrawsOtherNumbersForEverySeedAndPlace) {
  const at::Tensor x = random_numbers(200, 6);
  const auto rounded = [&](std::uint64_t seed) {
    return rounded_stochastically(integers(3), x, seed);
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
