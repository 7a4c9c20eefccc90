// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/elementary.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <string>

#include "halftone/base/hash.h"
#include "halftone/base/random.h"

namespace halftone {
namespace {

constexpr double kDoubleInfinity = std::numeric_limits<double>::infinity();
constexpr double kDoubleNan = std::numeric_limits<double>::quiet_NaN();

using Function = double (*)(double);
using Exact = long double (*)(long double);

/// A function, and the C library's in long double, which rounds to double within 2^-53.
struct Case {
  std::string name;
  Function ours;
  Exact exact;
  double low;
  double high;
  double relative;  ///< stated bound
  double absolute;
};

class Elementary : public testing::TestWithParam<Case> {
 protected:
  void expect_close(double x) const {
    const Case& c = GetParam();
    const auto wanted = static_cast<double>(c.exact(static_cast<long double>(x)));
    const double bound = (c.relative + 0x1p-53) * std::abs(wanted) + c.absolute;
    // A subnormal result has an absolute error, of up to one unit for each rounding.
    ASSERT_NEAR(c.ours(x), wanted, bound + 2 * std::numeric_limits<double>::denorm_min())
        << c.name << "(" << x << ")";
  }
};

TEST_P(Elementary, IsCloseToTheLibrary) {
  const Case& c = GetParam();
  Random random(1);
  for (int i = 0; i < 20000; ++i) {
    const double spread = c.low + (c.high - c.low) * random.uniform();
    expect_close(spread);
    if (c.low > 0) continue;
    for (const double scale : {0x1p-5, 0x1p-10, 0x1p-30, 0x1p-200, 0x1p-1060}) {
      expect_close(spread * scale);
    }
  }
  expect_close(c.low);
  expect_close(c.high);
}

INSTANTIATE_TEST_SUITE_P(
    All, Elementary,
    testing::Values(Case{"exp", elementary::exp, std::exp, -745, 709, 0x1p-51, 0},
                    Case{"expm1", elementary::expm1, std::expm1, -40, 709, 0x1p-50, 0},
                    Case{"expm1_small", elementary::expm1, std::expm1, -2, 2, 0x1p-50, 0},
                    Case{"log", elementary::log, std::log, 0x1p-1074, 4, 0x1p-50, 0},
                    Case{"log_large", elementary::log, std::log, 1, 1e300, 0x1p-50, 0},
                    Case{"log1p", elementary::log1p, std::log1p, -0.99, 3, 0x1p-50, 0},
                    Case{"sin", elementary::sin, std::sin, -0x1p20, 0x1p20, 0, 0x1p-51},
                    Case{"cos", elementary::cos, std::cos, -0x1p20, 0x1p20, 0, 0x1p-51},
                    Case{"sin_large", elementary::sin, std::sin, -0x1p60, 0x1p60, 0, 0x1p-51},
                    Case{"cos_large", elementary::cos, std::cos, -0x1p60, 0x1p60, 0, 0x1p-51},
                    Case{"asin", elementary::asin, std::asin, -1, 1, 0x1p-50, 0},
                    Case{"acos", elementary::acos, std::acos, -1, 1, 0x1p-50, 0},
                    Case{"atan", elementary::atan, std::atan, -100, 100, 0x1p-51, 0},
                    Case{"sinh", elementary::sinh, std::sinh, -709, 709, 0x1p-49, 0},
                    Case{"sinh_small", elementary::sinh, std::sinh, -3, 3, 0x1p-49, 0},
                    Case{"cosh", elementary::cosh, std::cosh, -709, 709, 0x1p-49, 0},
                    Case{"tanh", elementary::tanh, std::tanh, -25, 25, 0x1p-49, 0},
                    Case{"asinh", elementary::asinh, std::asinh, -1e12, 1e12, 0x1p-49, 0},
                    Case{"asinh_small", elementary::asinh, std::asinh, -9, 9, 0x1p-49, 0},
                    Case{"acosh", elementary::acosh, std::acosh, 1, 9, 0x1p-49, 0},
                    Case{"acosh_large", elementary::acosh, std::acosh, 1, 1e12, 0x1p-49, 0},
                    Case{"atanh", elementary::atanh, std::atanh, -0.999, 0.999, 0x1p-49, 0},
                    Case{"erf", elementary::erf, std::erf, -7, 7, 0, 0x1p-47},
                    Case{"erfc", elementary::erfc, std::erfc, -7, 26.5, 0x1p-42, 0}),
    [](const auto& test) { return test.param.name; });

TEST(ElementaryFunctions, ReduceHugeAngles) {
  Random random(4);
  for (int exponent = 20; exponent < 1024; ++exponent) {
    for (int i = 0; i < 8; ++i) {
      const double x = (i % 2 == 0 ? 1 : -1) * std::ldexp(0.5 + random.uniform() / 2, exponent);
      ASSERT_NEAR(elementary::sin(x), std::sin(x), 0x1p-51 + 0x1p-53) << x;
      ASSERT_NEAR(elementary::cos(x), std::cos(x), 0x1p-51 + 0x1p-53) << x;
    }
  }
  // Among all doubles, this one is nearest to a multiple of pi / 2.
  EXPECT_NEAR(elementary::cos(6381956970095103 * 0x1p797), std::cos(6381956970095103 * 0x1p797),
              0x1p-110);
}

TEST(ElementaryFunctions, HaveTangents) {
  Random random(5);
  for (int i = 0; i < 20000; ++i) {
    const double x = 200 * random.uniform() - 100;
    for (const double angle : {x, x * 0x1p-20, x * 0x1p30}) {
      const double wanted = std::tan(angle);
      ASSERT_NEAR(elementary::tan(angle), wanted, 0x1p-50 * (1 + wanted * wanted)) << angle;
    }
  }
}

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
  EXPECT_EQ(elementary::log1p(-1), -kDoubleInfinity);
  EXPECT_EQ(elementary::tanh(-kDoubleInfinity), -1);
  EXPECT_EQ(elementary::sinh(-kDoubleInfinity), -kDoubleInfinity);
  EXPECT_EQ(elementary::cosh(-kDoubleInfinity), kDoubleInfinity);
  EXPECT_EQ(elementary::asinh(-kDoubleInfinity), -kDoubleInfinity);
  EXPECT_EQ(elementary::acosh(kDoubleInfinity), kDoubleInfinity);
  EXPECT_EQ(elementary::acosh(1), 0);
  EXPECT_EQ(elementary::atanh(-1), -kDoubleInfinity);
  EXPECT_EQ(elementary::atan(-kDoubleInfinity), -std::numbers::pi / 2);
  EXPECT_EQ(elementary::asin(-1), -std::numbers::pi / 2);
  EXPECT_EQ(elementary::acos(-1), std::numbers::pi);
  EXPECT_EQ(elementary::acos(1), 0);
  EXPECT_EQ(elementary::erf(kDoubleInfinity), 1);
  EXPECT_EQ(elementary::erfc(kDoubleInfinity), 0);
  EXPECT_EQ(elementary::erfc(-kDoubleInfinity), 2);
}

TEST(ElementaryFunctions, AreNotNumbersOutsideOfTheirDomains) {
  for (const Function function :
       {elementary::exp, elementary::expm1, elementary::log, elementary::log1p, elementary::sin,
        elementary::cos, elementary::tan, elementary::asin, elementary::acos, elementary::atan,
        elementary::sinh, elementary::cosh, elementary::tanh, elementary::asinh, elementary::acosh,
        elementary::atanh, elementary::erf, elementary::erfc}) {
    EXPECT_TRUE(std::isnan(function(kDoubleNan)));
  }
  for (const double x : {kDoubleInfinity, -kDoubleInfinity}) {
    EXPECT_TRUE(std::isnan(elementary::sin(x)));
    EXPECT_TRUE(std::isnan(elementary::cos(x)));
    EXPECT_TRUE(std::isnan(elementary::tan(x)));
  }
  for (const double x : {1.0001, -1.0001, kDoubleInfinity}) {
    EXPECT_TRUE(std::isnan(elementary::asin(x)));
    EXPECT_TRUE(std::isnan(elementary::acos(x)));
    EXPECT_TRUE(std::isnan(elementary::atanh(x)));
  }
  EXPECT_TRUE(std::isnan(elementary::log(-1)));
  EXPECT_TRUE(std::isnan(elementary::acosh(0.999)));
}

TEST(ElementaryFunctions, KeepTheSignOfZero) {
  for (const Function function :
       {elementary::expm1, elementary::log1p, elementary::sin, elementary::tan, elementary::asin,
        elementary::atan, elementary::sinh, elementary::tanh, elementary::asinh, elementary::atanh,
        elementary::erf}) {
    for (const double zero : {0.0, -0.0}) {
      EXPECT_EQ(function(zero), 0);
      EXPECT_EQ(std::signbit(function(zero)), std::signbit(zero));
    }
  }
}

/// The checksum is the same on every architecture and changes only with a definition.
TEST(ElementaryFunctions, GiveTheSameBitsEverywhere) {
  Random random(3);
  Hash hash;
  Hash hash_of_inverses;
  for (int i = 0; i < 5000; ++i) {
    const double x = 20 * random.uniform() - 10;
    const double size = std::abs(x);
    for (const double y : {elementary::exp(x), elementary::expm1(x / 16), elementary::log(size),
                           elementary::log1p(size), elementary::tanh(x / 4), elementary::erf(x / 4),
                           elementary::sin(x), elementary::cos(x), elementary::pow(size, x / 4)}) {
      hash.add(std::as_bytes(std::span(&y, 1)));
    }
    for (const double y :
         {elementary::tan(x), elementary::asin(x / 10), elementary::acos(x / 10),
          elementary::atan(x), elementary::sinh(x), elementary::cosh(x), elementary::asinh(x),
          elementary::acosh(1 + size), elementary::atanh(x / 10), elementary::erfc(x / 2),
          elementary::sin(x * 0x1p40), elementary::cos(x * 0x1p900)}) {
      hash_of_inverses.add(std::as_bytes(std::span(&y, 1)));
    }
  }
  EXPECT_EQ(hash.value(), 0xe6bf0352865685cbu);
  EXPECT_EQ(hash_of_inverses.value(), 0x1f75b61b455af564u);
}

}  // namespace
}  // namespace halftone
