// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/activation/activation.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "halftone/kernels/activation/activation_testing.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Activation = PerTarget;
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
  expect_near([](auto x, auto& y) { tanh(x, y); }, [](double x) { return std::tanh(x); }, 9e-8);
  std::vector<float> y(sweep().size());
  tanh(sweep(), y);
  for (const float value : y) ASSERT_FALSE(std::abs(value) > 1.0F);
}

TEST_P(Activation, SiluStaysWithinItsUlps) {
  const auto exact = [](double x) { return x < -200 ? 0 : x / (1 + std::exp(-x)); };
  expect_within([](auto x, auto& y) { silu(x, y); }, silu_reference, exact, 3.5);
}

TEST_P(Activation, HardSwishStaysWithinItsUlps) {
  const auto exact = [](double x) { return x < -3 ? 0 : x > 3 ? x : x * (x + 3) / 6; };
  expect_within([](auto x, auto& y) { hard_swish(x, y); }, hard_swish_reference, exact, 3);
}

TEST_P(Activation, HardSigmoidIsItsTwoRoundedSteps) {
  const auto kernel = [](auto x, auto& y) { hard_sigmoid(x, 0.2F, 0.5F, y); };
  const auto reference = [](float x) { return hard_sigmoid_reference(x, 0.2F, 0.5F); };
  const auto exact = [](double x) { return std::min(std::max(double{0.2F} * x + 0.5, 0.0), 1.0); };
  expect_near(kernel, exact, 6e-8);
  std::vector<float> y(sweep().size());
  kernel(sweep(), y);
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_EQ(bits_of(y[i]), bits_of(reference(sweep()[i]))) << "at x = " << sweep()[i];
  }
}

/// Expects kernel(x, y) to give the bits of the function over the sweep.
template <typename Kernel, typename Function>
void expect_bits(Kernel kernel, Function function) {
  std::vector<float> y(sweep().size());
  kernel(sweep(), y);
  for (std::size_t i = 0; i < y.size(); ++i) {
    ASSERT_EQ(bits_of(y[i]), bits_of(function(sweep()[i]))) << "at x = " << sweep()[i];
  }
}

TEST_P(Activation, FunctionsThatRoundAtMostOnceAreExact) {
  const auto quiet = [](float y) { return std::isnan(y) ? kNan : y; };
  expect_bits([](auto x, auto& y) { abs(x, y); }, [](float x) { return std::fabs(x); });
  expect_bits([](auto x, auto& y) { negate(x, y); }, [](float x) { return -x; });
  expect_bits([](auto x, auto& y) { square(x, y); }, [&](float x) { return quiet(x * x); });
  expect_bits([](auto x, auto& y) { sqrt(x, y); }, [&](float x) { return quiet(std::sqrt(x)); });
}

TEST_P(Activation, EluStaysWithinItsUlps) {
  const auto kernel = [](auto x, auto& y) { elu(x, 1, 1, y); };
  const auto reference = [](float x) { return elu_reference(x, 1, 1); };
  expect_within(
      kernel, reference, [](double x) { return x < 0 ? std::expm1(x) : x; }, 1.2);
}

TEST_P(Activation, EluWithParametersStaysWithinItsUlps) {
  const float alpha = 1.67326319F;
  const float scale = 1.05070102F;
  const auto kernel = [&](auto x, auto& y) { elu(x, alpha, scale, y); };
  const auto reference = [&](float x) { return elu_reference(x, alpha, scale); };
  const auto exact = [&](double x) {
    return double{scale} * (x < 0 ? double{alpha} * std::expm1(x) : x);
  };
  expect_within(kernel, reference, exact, 3);
}

TEST_P(Activation, SoftplusStaysWithinItsUlps) {
  const auto exact = [](double x) { return (x > 0 ? x : 0) + std::log1p(std::exp(-std::abs(x))); };
  expect_within([](auto x, auto& y) { softplus(x, y); }, softplus_reference, exact, 3.5);
}

/// Values in ascending order: dense from -110 to 100, and runs of neighbours around `seams`.
std::vector<float> ascending(const std::vector<float>& seams) {
  std::vector<float> x;
  for (int i = -1100000; i <= 1000000; ++i) x.push_back(static_cast<float>(i) * 1e-4F);
  for (const float seam : seams) {
    float below = seam;
    float above = seam;
    for (int i = 0; i < 20000; ++i) {
      x.push_back(below = std::nextafter(below, -kInfinity));
      x.push_back(above = std::nextafter(above, kInfinity));
    }
  }
  std::sort(x.begin(), x.end());
  return x;
}

/// The values where round(x log2(e)) changes, for exponents that occur.
std::vector<float> exponent_seams(float scale) {
  std::vector<float> seams = {0.0F};
  for (int k = -20; k <= 20; ++k) {
    seams.push_back(scale * (static_cast<float>(k) + 0.5F) * 0.693147181F);
  }
  return seams;
}

template <typename Kernel>
void expect_never_decreasing(Kernel kernel, const std::vector<float>& x) {
  std::vector<float> y(x.size());
  kernel(x, y);
  for (std::size_t i = 1; i < y.size(); ++i) {
    ASSERT_GE(y[i], y[i - 1]) << "at x = " << x[i];
  }
}

TEST_P(Activation, TanhNeverDecreases) {
  std::vector<float> seams = exponent_seams(0.5F);
  seams.insert(seams.end(), {-10.0F, -0.55F, 0.55F, 10.0F});
  expect_never_decreasing([](auto x, auto& y) { tanh(x, y); }, ascending(seams));
}

TEST_P(Activation, ExpNeverDecreases) {
  std::vector<float> seams = exponent_seams(1);
  seams.insert(seams.end(), {-104.0F, -87.3F, 88.7F});
  expect_never_decreasing([](auto x, auto& y) { exp(x, y); }, ascending(seams));
}

TEST_P(Activation, EluNeverDecreases) {
  const std::vector<float> x = ascending(exponent_seams(1));
  expect_never_decreasing([](auto in, auto& y) { elu(in, 1, 1, y); }, x);
  expect_never_decreasing([](auto in, auto& y) { elu(in, 1.7F, 0.3F, y); }, x);
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
  hard_sigmoid(x, 0.2F, 0.5F, y);
  expect({0.5F, 0.5F, 1, 0, kNan, kNan, 0.5F});
  hard_sigmoid(x, 0, 0.5F, y);
  expect({0.5F, 0.5F, kNan, kNan, kNan, kNan, 0.5F});
  hard_swish(x, y);
  expect({0.0F, -0.0F, kInfinity, -0.0F, kNan, kNan, 0.0F});
  silu(x, y);
  expect({0.0F, -0.0F, kInfinity, -0.0F, kNan, kNan, 0.0F});
  elu(x, 2, 1, y);
  expect({0.0F, -0.0F, kInfinity, -2, kNan, kNan, 1e-45F});
  softplus(x, y);
  const float near_log_2 = softplus_reference(0);
  EXPECT_NEAR(near_log_2, std::numbers::ln2, 1e-7);
  expect({near_log_2, near_log_2, kInfinity, 0, kNan, kNan, near_log_2});
}

TEST_P(Activation, EveryLengthWritesItsElementsOnlyAndMayBeInPlace) {
  using In = std::span<const float>;
  using Out = std::span<float>;
  Random random(18);
  expect_every_length(random, exp, exp_reference);
  expect_every_length(random, tanh, tanh_reference);
  expect_every_length(random, relu, [](float v) { return v < 0 ? 0 : v; });
  expect_every_length(
      random, [](In x, Out y) { clamp(x, -0.5F, 1, y); },
      [](float v) { return std::min(std::max(v, -0.5F), 1.0F); });
  expect_every_length(
      random, [](In x, Out y) { leaky_relu(x, 0.25F, y); },
      [](float v) { return v < 0 ? 0.25F * v : v; });
  expect_every_length(
      random, [](In x, Out y) { hard_sigmoid(x, 0.5F, 0.25F, y); },
      [](float v) { return hard_sigmoid_reference(v, 0.5F, 0.25F); });
  expect_every_length(random, hard_swish, hard_swish_reference);
  expect_every_length(random, silu, silu_reference);
  expect_every_length(
      random, [](In x, Out y) { elu(x, 1.5F, 2, y); },
      [](float v) { return elu_reference(v, 1.5F, 2); });
  expect_every_length(random, softplus, softplus_reference);
  expect_every_length(random, sigmoid, sigmoid_reference);
}

HALFTONE_INSTANTIATE_PER_TARGET(Activation);

}  // namespace
}  // namespace halftone::kernels
