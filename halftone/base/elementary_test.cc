// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

#include "halftone/base/hash.h"
#include "halftone/base/random.h"

namespace halftone {
namespace {

constexpr double kDoubleInfinity = std::numeric_limits<double>::infinity();
constexpr double kDoubleNan = std::numeric_limits<double>::quiet_NaN();

using Function = double (*)(double);

/// A function and its C library equivalent, whose relative error is below 2^-52.
struct Case {
  std::string name;
  Function ours;
  Function library;
  double low;
  double high;
  double relative;  ///< stated bound
  double absolute;
};

class Elementary : public testing::TestWithParam<Case> {};

TEST_P(Elementary, IsCloseToTheLibrary) {
  const Case& c = GetParam();
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const double spread = c.low + (c.high - c.low) * random.uniform();
    for (const double x : {spread, spread * 0x1p-10, spread * 0x1p-30}) {
      const double wanted = c.library(x);
      const double bound = (c.relative + 0x1p-52) * std::abs(wanted) + c.absolute;
      ASSERT_NEAR(c.ours(x), wanted, bound) << c.name << "(" << x << ")";
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, Elementary,
    testing::Values(Case{"exp", elementary::exp, std::exp, -700, 700, 0x1p-51, 0},
                    Case{"expm1", elementary::expm1, std::expm1, -40, 40, 0x1p-50, 0},
                    Case{"log", elementary::log, std::log, 0, 4, 0x1p-50, 0},
                    Case{"log_large", elementary::log, std::log, 0, 1e300, 0x1p-50, 0},
                    Case{"log1p", elementary::log1p, std::log1p, -0.9, 3, 0x1p-50, 0},
                    Case{"tanh", elementary::tanh, std::tanh, -25, 25, 0x1p-49, 0},
                    Case{"erf", elementary::erf, std::erf, -7, 7, 0, 0x1p-47},
                    Case{"sin", elementary::sin, std::sin, -0x1p20, 0x1p20, 0, 0x1p-51},
                    Case{"cos", elementary::cos, std::cos, -0x1p20, 0x1p20, 0, 0x1p-51},
                    Case{"sin_large", elementary::sin, std::sin, 0x1p20, 0x1p40, 0, 0x1p-13}),
    [](const auto& test) { return test.param.name; });

TEST(ElementaryFunctions, RaiseToPowers) {
  Random random(2);
  for (int i = 0; i < 20000; ++i) {
    const double x = 10 * random.uniform();
    const double y = 20 * random.uniform() - 10;
    const double wanted = std::pow(x, y);
    const double bound = 0x1p-50 * (1 + std::abs(y * std::log(x))) * wanted;
    ASSERT_NEAR(elementary::pow(x, y), wanted, bound) << x << ", " << y;
  }
  EXPECT_NEAR(elementary::pow(-2, 3), -8, 0x1p-46);
  EXPECT_NEAR(elementary::pow(-2, 4), 16, 0x1p-45);
  EXPECT_TRUE(std::isnan(elementary::pow(-2, 0.5)));
  EXPECT_EQ(elementary::pow(0, 2), 0);
  EXPECT_EQ(elementary::pow(0, -1), kDoubleInfinity);
  EXPECT_EQ(elementary::pow(kDoubleNan, 0), 1);
}

TEST(ElementaryFunctions, HaveTheirLimits) {
  EXPECT_EQ(elementary::exp(kDoubleInfinity), kDoubleInfinity);
  EXPECT_EQ(elementary::exp(-kDoubleInfinity), 0);
  EXPECT_EQ(elementary::expm1(-kDoubleInfinity), -1);
  EXPECT_EQ(elementary::log(0), -kDoubleInfinity);
  EXPECT_EQ(elementary::log(kDoubleInfinity), kDoubleInfinity);
  EXPECT_TRUE(std::isnan(elementary::log(-1)));
  EXPECT_EQ(elementary::log1p(-1), -kDoubleInfinity);
  EXPECT_EQ(elementary::tanh(-kDoubleInfinity), -1);
  EXPECT_EQ(elementary::erf(kDoubleInfinity), 1);
  EXPECT_TRUE(std::isnan(elementary::sin(kDoubleInfinity)));
  for (const Function function :
       {elementary::exp, elementary::expm1, elementary::log, elementary::log1p, elementary::tanh,
        elementary::erf, elementary::sin, elementary::cos}) {
    EXPECT_TRUE(std::isnan(function(kDoubleNan)));
  }
}

/// The checksum is the same on every architecture and changes only with a definition.
TEST(ElementaryFunctions, GiveTheSameBitsEverywhere) {
  Random random(3);
  Hash hash;
  for (int i = 0; i < 5000; ++i) {
    const double x = 20 * random.uniform() - 10;
    const double size = std::abs(x);
    for (const double y : {elementary::exp(x), elementary::expm1(x / 16), elementary::log(size),
                           elementary::log1p(size), elementary::tanh(x / 4), elementary::erf(x / 4),
                           elementary::sin(x), elementary::cos(x), elementary::pow(size, x / 4)}) {
      hash.add(std::as_bytes(std::span(&y, 1)));
    }
  }
  EXPECT_EQ(hash.value(), 0xe6bf0352865685cbu);
}

}  // namespace
}  // namespace halftone
