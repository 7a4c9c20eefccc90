// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/encode/linear_codes.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/kernels/per_target.h"

namespace halftone::kernels {
namespace {

using LinearCodes = PerTarget;

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr PairKind kKinds[] = {PairKind::kSum, PairKind::kDifference, PairKind::kProduct};

template <typename Code>
constexpr CodeBounds kAll{0, std::numeric_limits<Code>::min(), std::numeric_limits<Code>::max()};

template <typename Code>
std::vector<Code> random_codes(Random& random, std::size_t count) {
  std::vector<Code> codes(count);
  for (Code& q : codes) q = static_cast<Code>(random.below(256));
  return codes;
}

template <typename Code>
void expect_quantized(const std::vector<float>& x, const CodeRounder& how) {
  std::vector<Code> q(x.size());
  quantize_linear(x, how, q);
  for (std::size_t i = 0; i < x.size(); ++i) {
    EXPECT_EQ(q[i], quantized_reference(x[i], how)) << x[i] << " at " << i;
  }
}

TEST_P(LinearCodes, QuantizesEveryLengthLikeTheReference) {
  Random random(71);
  for (const bool half_away : {false, true}) {
    for (std::size_t n = 0; n <= 40; ++n) {
      std::vector<float> x(n);
      for (float& v : x) v = static_cast<float>(100 * random.uniform() - 50);
      expect_quantized<std::int8_t>(x, {0.3F, {5, -128, 127}, half_away});
      expect_quantized<std::uint8_t>(x, {0.3F, {90, 0, 200}, half_away});
    }
  }
}

// Products next to half steps, where a quotient that is off by its last bit has another code.
TEST_P(LinearCodes, QuantizesNextToTiesLikeTheReference) {
  Random random(75);
  for (int i = 0; i < 300; ++i) {
    const auto scale = static_cast<float>(std::exp2(40 * random.uniform() - 20));
    std::vector<float> x;
    for (int step = -9; step <= 9; ++step) {
      float at = (static_cast<float>(step) + 0.5F) * scale;
      for (int ulp = 0; ulp < 3; ++ulp) at = std::nextafter(at, -kInfinity);
      for (int ulp = 0; ulp < 6; ++ulp) x.push_back(at = std::nextafter(at, kInfinity));
    }
    expect_quantized<std::int8_t>(x, {scale, {}, i % 2 == 0});
  }
  expect_quantized<std::int8_t>({1e-44F, -3e-39F, 1e-38F, 0}, {1e-40F, {}, false});
  expect_quantized<std::int8_t>({1e38F, -3e38F, 1e30F, 0}, {2e37F, {}, false});
}

TEST_P(LinearCodes, QuantizesTiesAndTheEndsOfFloat32) {
  const std::vector<float> odd = {0.5F,      1.5F,       -0.5F,
                                  -2.5F,     1e30F,      -1e30F,
                                  kInfinity, -kInfinity, std::numeric_limits<float>::quiet_NaN(),
                                  126.5F,    -128.5F,    0.49999997F};
  std::vector<std::int8_t> q(odd.size());
  quantize_linear(odd, {1, {}, false}, q);
  EXPECT_EQ(q, (std::vector<std::int8_t>{0, 2, 0, -2, 127, -128, 127, -128, 0, 126, -128, 0}));
  quantize_linear(odd, {1, {}, true}, q);
  EXPECT_EQ(q, (std::vector<std::int8_t>{1, 2, -1, -3, 127, -128, 127, -128, 0, 127, -128, 0}));
}

TEST_P(LinearCodes, DequantizesEveryLength) {
  Random random(72);
  for (std::size_t n = 0; n <= 40; ++n) {
    const auto q = random_codes<std::int8_t>(random, n);
    const auto u = random_codes<std::uint8_t>(random, n);
    std::vector<float> x(n);
    std::vector<float> y(n);
    dequantize_linear(q, {0.3F, -7}, x);
    dequantize_linear(u, {0.3F, 7}, y);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(x[i], 0.3F * static_cast<float>(q[i] + 7));
      EXPECT_EQ(y[i], 0.3F * static_cast<float>(u[i] - 7));
    }
  }
}

TEST_P(LinearCodes, AreSignedLessTheMiddle) {
  Random random(74);
  for (std::size_t n = 0; n <= 140; ++n) {
    const auto q = random_codes<std::uint8_t>(random, n);
    std::vector<std::int8_t> y(n);
    as_signed(q, y);
    for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(y[i], q[i] - 128);
  }
}

template <typename Code>
void expect_combined(const std::vector<Code>& a, const std::vector<Code>& b, std::size_t n,
                     const FloatPair& how) {
  std::vector<Code> q(n);
  combine_codes(a, b, how, q);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t left = a[a.size() == 1 ? 0 : i];
    const std::int32_t right = b[b.size() == 1 ? 0 : i];
    EXPECT_EQ(q[i], combined_reference(left, right, how)) << left << " and " << right;
  }
}

template <typename Code>
void expect_all_kinds(Random& random, std::size_t n) {
  const auto a = random_codes<Code>(random, n);
  const auto b = random_codes<Code>(random, n);
  const auto one = random_codes<Code>(random, 1);
  CodeBounds bounds = kAll<Code>;
  bounds.zero_point = 11;
  for (const PairKind kind : kKinds) {
    const FloatPair floats{kind, {0.07F, 3}, {0.11F, 8}, -1, 6, {0.05F, bounds, n % 2 == 0}};
    expect_combined(a, b, n, floats);
    expect_combined(a, one, n, floats);
    expect_combined(one, b, n, floats);
  }
}

TEST_P(LinearCodes, CombinesEveryLengthLikeTheReference) {
  Random random(73);
  for (std::size_t n = 0; n <= 40; ++n) {
    expect_all_kinds<std::int8_t>(random, n);
    expect_all_kinds<std::uint8_t>(random, n);
  }
}

// Every pair of codes, by hand: (0.5 (a - 1) + 0.25 b) / 1 of a, b in 0 .. 3, ties to even.
TEST_P(LinearCodes, CombinesAsWrittenByHand) {
  const std::vector<std::int8_t> a = {0, 1, 2, 3, 3};
  const std::vector<std::int8_t> b = {0, 2, 0, 2, -4};
  const FloatPair how{PairKind::kSum, {0.5F, 1}, {0.25F, 0}, 0, kInfinity, {1, {}, false}};
  std::vector<std::int8_t> q(a.size());
  combine_codes(a, b, how, q);  // -0.5 -> 0 by the bound, 0.5, 0.5, 1.5, 0
  EXPECT_EQ(q, (std::vector<std::int8_t>{0, 0, 0, 2, 0}));
}

HALFTONE_INSTANTIATE_PER_TARGET(LinearCodes);

}  // namespace
}  // namespace halftone::kernels
