// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/activation.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Activation = PerTarget;
constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

/// Every 2,003rd of all float32 bit patterns (2,003 is prime), NaN and denormals among them, and
/// what lies at the borders.
const std::vector<float>& sweep() {
  static const std::vector<float> values = [] {
    std::vector<float> list = {0.0F,   -0.0F,   kInfinity, -kInfinity, kNan,    -kNan,
                               1e-45F, -1e-45F, 0.55F,     -0.55F,     88.722F, -103.97F,
                               88.73F, -104.5F, 10.0F,     -10.0F,     9.01F,   -9.01F};
    for (std::uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 2003) {
      list.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    // Most of the patterns are tiny or huge: half a million where the functions bend.
    for (int i = -250000; i <= 250000; ++i) list.push_back(static_cast<float>(i) * 4.3e-4F);
    return list;
  }();
  return values;
}

/// |y - exact| in units of the last place of a float32 of that size, 2^-149 where denormal.
double error_in_ulps(float y, double exact) {
  if (std::isnan(exact)) return std::isnan(y) ? 0 : HUGE_VAL;
  // Half a unit past the largest number rounds to infinity.
  if (std::abs(exact) >= 0x1.ffffffp127) return std::abs(y) == kInfinity ? 0 : HUGE_VAL;
  const int exponent = std::max(std::ilogb(exact == 0 ? 0x1p-149 : exact), -126);
  return std::abs(double{y} - exact) / std::ldexp(1.0, exponent - 23);
}

template <typename Kernel, typename Reference, typename Exact>
void expect_within(Kernel kernel, Reference reference, Exact exact, double max_ulps) {
  const std::vector<float>& x = sweep();
  std::vector<float> y(x.size());
  kernel(x, y);
  double worst = 0;
  float where = 0;
  std::size_t differences = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    differences += bits_of(y[i]) != bits_of(reference(x[i]));
    const double error = error_in_ulps(y[i], exact(double{x[i]}));
    if (error > worst) {
      worst = error;
      where = x[i];
    }
  }
  EXPECT_EQ(differences, 0U) << "from the reference";
  EXPECT_LE(worst, max_ulps) << "at x = " << where;
  testing::Test::RecordProperty("worst_ulps", std::to_string(worst));
}

TEST_P(Activation, ExpStaysWithinItsUlps) {
  expect_within([](auto x, auto& y) { exp(x, y); }, exp_reference,
                [](double x) { return std::exp(x); }, 1.1);
}

TEST_P(Activation, SigmoidStaysWithinItsUlps) {
  expect_within([](auto x, auto& y) { sigmoid(x, y); }, sigmoid_reference,
                [](double x) { return 1 / (1 + std::exp(-x)); }, 2.5);
}

TEST_P(Activation, TanhStaysWithinItsUlps) {
  expect_within([](auto x, auto& y) { tanh(x, y); }, tanh_reference,
                [](double x) { return std::tanh(x); }, 1.5);
}

TEST_P(Activation, TanhStaysWithinItsAbsoluteBoundAndRange) {
  const std::vector<float>& x = sweep();
  std::vector<float> y(x.size());
  tanh(x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) continue;
    ASSERT_NEAR(y[i], std::tanh(double{x[i]}), 9e-8) << "at x = " << x[i];
    ASSERT_LE(std::abs(y[i]), 1.0F) << "at x = " << x[i];
  }
}

TEST_P(Activation, TanhIsMonotone) {
  std::vector<float> x;
  for (int i = 0; i <= 1000000; ++i) x.push_back(static_cast<float>(i) * 1.1e-5F);
  std::vector<float> y(x.size());
  tanh(x, y);
  for (std::size_t i = 1; i < y.size(); ++i) {
    ASSERT_GE(y[i], y[i - 1]) << "at x = " << x[i];
  }
}

TEST_P(Activation, SpecialNumbersHaveTheirExactValues) {
  const std::vector<float> x = {0.0F, -0.0F, kInfinity, -kInfinity, kNan, -kNan, 1e-45F};
  std::vector<float> y(x.size());
  const auto expect = [&](std::vector<float> expected) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(bits_of(y[i]), bits_of(expected[i])) << "x = " << x[i] << ", y = " << y[i];
    }
  };
  exp(x, y);
  expect({1, 1, kInfinity, 0, kNan, kNan, 1});
  sigmoid(x, y);
  expect({0.5F, 0.5F, 1, 0, kNan, kNan, 0.5F});
  tanh(x, y);
  expect({0.0F, -0.0F, 1, -1, kNan, kNan, 1e-45F});
  relu(x, y);
  expect({0.0F, -0.0F, kInfinity, 0, kNan, -kNan, 1e-45F});
  clamp(x, -1, 6, y);
  expect({0.0F, -0.0F, 6, -1, kNan, -kNan, 1e-45F});
  leaky_relu(x, 0.5F, y);
  expect({0.0F, -0.0F, kInfinity, -kInfinity, kNan, -kNan, 1e-45F});
}

TEST_P(Activation, EveryLengthWritesItsElementsOnly) {
  Random random(18);
  for (std::size_t n = 0; n <= 35; ++n) {
    const std::vector<float> x = numerics::random_floats(random, n);
    std::vector<float> y(n + 1, 7.0F);
    const std::span<float> out(y.data(), n);
    const auto expect = [&](auto function) {
      for (std::size_t i = 0; i < n; ++i) EXPECT_EQ(y[i], function(x[i])) << n << ", " << i;
      EXPECT_EQ(y[n], 7.0F);
    };
    exp(x, out);
    expect(exp_reference);
    tanh(x, out);
    expect(tanh_reference);
    relu(x, out);
    expect([](float v) { return v < 0 ? 0 : v; });
    clamp(x, -0.5F, 1, out);
    expect([](float v) { return std::min(std::max(v, -0.5F), 1.0F); });
    leaky_relu(x, 0.25F, out);
    expect([](float v) { return v < 0 ? 0.25F * v : v; });
  }
}

TEST_P(Activation, WorksInPlace) {
  Random random(19);
  const std::vector<float> x = numerics::random_floats(random, 37);
  std::vector<float> y = x;
  tanh(y, y);
  for (std::size_t i = 0; i < x.size(); ++i) EXPECT_EQ(y[i], tanh_reference(x[i]));
}

HALFTONE_INSTANTIATE_PER_TARGET(Activation);

}  // namespace
}  // namespace halftone::kernels
