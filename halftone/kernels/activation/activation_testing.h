// SPDX-License-Identifier: Apache-2.0
// Helpers for tests of functions of one value.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/numerics/test_data.h"

namespace halftone::kernels {

inline std::uint32_t bits_of(float x) { return std::bit_cast<std::uint32_t>(x); }

/// Every 2,003rd float32 bit pattern (2,003 is prime), including NaN and denormals, and values at
/// the limits.
inline const std::vector<float>& sweep() {
  static const std::vector<float> values = [] {
    std::vector<float> list = {0.0F,   -0.0F,   kInfinity, -kInfinity, kNan,    -kNan,
                               1e-45F, -1e-45F, 0.55F,     -0.55F,     88.722F, -103.97F,
                               88.73F, -104.5F, 10.0F,     -10.0F,     9.01F,   -9.01F,
                               0.85F,  -0.85F,  3.92F,     -3.92F,     -14.4F,  -15.1F,
                               -11.5F, -108.7F, -3.0F,     3.0F,       -17.33F, -25.0F};
    for (std::uint64_t bits = 0; bits <= 0xFFFFFFFF; bits += 2003) {
      list.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    }
    // Most patterns are tiny or huge, so half a million values are added where the functions bend.
    for (int i = -250000; i <= 250000; ++i) list.push_back(static_cast<float>(i) * 4.3e-4F);
    return list;
  }();
  return values;
}

/// |y - exact| in units in the last place of a float32 of that size; 2^-149 for denormals.
inline double error_in_ulps(float y, double exact) {
  if (std::isnan(exact)) return std::isnan(y) ? 0 : HUGE_VAL;
  // Half a unit above the largest finite value rounds to infinity.
  if (std::abs(exact) >= 0x1.ffffffp127) return std::abs(y) == kInfinity ? 0 : HUGE_VAL;
  const int exponent = std::max(std::ilogb(exact == 0 ? 0x1p-149 : exact), -126);
  return std::abs(double{y} - exact) / std::ldexp(1.0, exponent - 23);
}

/// Checks that kernel(x, y) over the sweep equals its reference, bit for bit, and is within
/// max_ulps(x) of the exact function.
template <typename Kernel, typename Reference, typename Exact, std::invocable<double> MaxUlps>
void expect_within(Kernel kernel, Reference reference, Exact exact, MaxUlps max_ulps) {
  const std::vector<float>& x = sweep();
  std::vector<float> y(x.size());
  kernel(x, y);
  double worst = 0;
  float where = 0;
  std::size_t differences = 0;
  for (std::size_t i = 0; i < x.size(); ++i) {
    differences += bits_of(y[i]) != bits_of(reference(x[i]));
    const double error = error_in_ulps(y[i], exact(double{x[i]})) / max_ulps(double{x[i]});
    if (error > worst) {
      worst = error;
      where = x[i];
    }
  }
  EXPECT_EQ(differences, 0U) << "from the reference";
  EXPECT_LE(worst, 1) << "of what is allowed, at x = " << where;
  testing::Test::RecordProperty("worst_share", std::to_string(worst));
}

template <typename Kernel, typename Reference, typename Exact>
void expect_within(Kernel kernel, Reference reference, Exact exact, double max_ulps) {
  expect_within(kernel, reference, exact, [max_ulps](double) { return max_ulps; });
}

/// Checks that every y[i] is within `bound` of the exact function of x[i], over the sweep.
template <typename Kernel, typename Exact>
void expect_near(Kernel kernel, Exact exact, double bound) {
  const std::vector<float>& x = sweep();
  std::vector<float> y(x.size());
  kernel(x, y);
  for (std::size_t i = 0; i < x.size(); ++i) {
    const double expected = exact(double{x[i]});
    if (std::isfinite(expected)) {
      ASSERT_NEAR(y[i], expected, bound) << "at x = " << x[i];
    }
  }
}

/// Checks that kernel(x, y) writes exactly the elements of y, for every length up to several
/// vectors, and that y may alias x.
template <typename Kernel, typename Reference>
void expect_every_length(Random& random, Kernel kernel, Reference reference) {
  for (std::size_t n = 0; n <= 35; ++n) {
    const std::vector<float> x = numerics::random_floats(random, n);
    std::vector<float> y(n + 1, 7.0F);
    kernel(x, std::span(y.data(), n));
    std::vector<float> in_place = x;
    kernel(in_place, in_place);
    for (std::size_t i = 0; i < n; ++i) {
      EXPECT_EQ(y[i], reference(x[i])) << n << ", " << i;
      EXPECT_EQ(in_place[i], y[i]) << n << ", " << i;
    }
    EXPECT_EQ(y[n], 7.0F);
  }
}

}  // namespace halftone::kernels
