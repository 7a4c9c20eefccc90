// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "halftone/kernels/activation/activation.h"
#include "halftone/kernels/activation/activation_testing.h"
#include "halftone/kernels/per_target.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {
namespace {

using Gelu = PerTarget;

double exact_gelu(double x) { return x < -40 ? 0 : x * std::erfc(-x / std::numbers::sqrt2) / 2; }

/// sqrt(8 / pi) (x + 0.044715 x^3).
double slope_of_gelu_tanh(double x) {
  return std::sqrt(8 / std::numbers::pi) * (x + 0.044715 * x * x * x);
}

double exact_gelu_tanh(double x) {
  return x < -40 ? 0 : x / (1 + std::exp(-slope_of_gelu_tanh(x)));
}

TEST_P(Gelu, ErfStaysWithinItsUlps) {
  const auto exact = [](double x) { return std::erf(x); };
  expect_within([](auto x, auto& y) { erf(x, y); }, erf_reference, exact, 1.6);
  expect_near([](auto x, auto& y) { erf(x, y); }, exact, 1e-7);
}

TEST_P(Gelu, ErfIsOddAndNeverOutsideItsRange) {
  const std::vector<float>& x = sweep();
  std::vector<float> y(x.size());
  erf(x, y);
  std::vector<float> minus_x = x;
  for (float& value : minus_x) value = -value;
  std::vector<float> of_minus_x(x.size());
  erf(minus_x, of_minus_x);
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (std::isnan(x[i])) continue;
    ASSERT_EQ(bits_of(of_minus_x[i]), bits_of(-y[i])) << "at x = " << x[i];
    ASSERT_LE(std::abs(y[i]), 1.0F) << "at x = " << x[i];
  }
}

TEST_P(Gelu, StaysWithinItsUlpsToTheEndOfTheTail) {
  expect_within([](auto x, auto& y) { gelu(x, y); }, gelu_reference, exact_gelu,
                [](double x) { return x < 0 ? 8 : 5; });
}

TEST_P(Gelu, TanhFormStaysWithinItsUlps) {
  const auto max_ulps = [](double x) {
    return x < 0 ? 2.5 * std::min(-slope_of_gelu_tanh(x), 110.0) + 3 : 2.2;
  };
  expect_within([](auto x, auto& y) { gelu_tanh(x, y); }, gelu_tanh_reference, exact_gelu_tanh,
                max_ulps);
}

TEST_P(Gelu, NegativeNumbersStayWithinTheAbsoluteBound) {
  const auto exact_below_0 = [](auto exact) {
    return [exact](double x) { return x < 0 ? exact(x) : kNan; };
  };
  expect_near([](auto x, auto& y) { gelu(x, y); }, exact_below_0(exact_gelu), 8e-8);
  expect_near([](auto x, auto& y) { gelu_tanh(x, y); }, exact_below_0(exact_gelu_tanh), 6e-8);
}

TEST_P(Gelu, SpecialNumbersHaveTheirExactValues) {
  const std::vector<float> x = {0.0F, -0.0F, kInfinity, -kInfinity, kNan, -kNan, 1e-45F, 3e38F};
  std::vector<float> y(x.size());
  const auto expect = [&](std::vector<float> expected) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      EXPECT_EQ(bits_of(y[i]), bits_of(expected[i])) << "x = " << x[i] << ", y = " << y[i];
    }
  };
  erf(x, y);
  expect({0.0F, -0.0F, 1, -1, kNan, kNan, 1e-45F, 1});
  gelu(x, y);
  expect({0.0F, -0.0F, kInfinity, -0.0F, kNan, kNan, 0.0F, 3e38F});
  gelu_tanh(x, y);
  expect({0.0F, -0.0F, kInfinity, -0.0F, kNan, kNan, 0.0F, 3e38F});
}

TEST_P(Gelu, EveryLengthWritesItsElementsOnlyAndMayBeInPlace) {
  Random random(50);
  expect_every_length(random, erf, erf_reference);
  expect_every_length(random, gelu, gelu_reference);
  expect_every_length(random, gelu_tanh, gelu_tanh_reference);
}

HALFTONE_INSTANTIATE_PER_TARGET(Gelu);

}  // namespace
}  // namespace halftone::kernels
