// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/real.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "halftone/base/testing.h"

namespace halftone::ir {
namespace {

Real height() { return Real::of(Extent::symbol("H")); }
Real width() { return Real::of(Extent::symbol("W")); }

/// A formula of two extents and the same in float32, as the processor computes it.
struct RealFormula {
  std::function<Extent(const Real& h, const Real& w)> open;
  std::function<float(float h, float w)> number;
  std::string text;
};

const std::vector<RealFormula>& real_formulas() {
  static const std::vector<RealFormula> all = {
      {[](auto& a, auto& /*b*/) { return (a * Real(1.3F)).floor(); },
       [](float a, float /*b*/) { return std::floor(a * 1.3F); }, "floor(product(float(H), 1.3))"},
      {[](auto& a, auto& b) { return (b / a * a).floor(); },
       [](float a, float b) { return std::floor(b / a * a); },
       "floor(product(quotient(float(W), float(H)), float(H)))"},
      {[](auto& a, auto& b) { return (Real::least(b / a, Real(2)) * a).round(); },
       [](float a, float b) { return std::round(std::min(b / a, 2.0F) * a); },
       "round(product(min(1073741824, quotient(float(W), float(H))), float(H)))"},
      {[](auto& a, auto& b) { return ((a + Real(0.1F)) / b).ceil(); },
       [](float a, float b) { return std::ceil((a + 0.1F) / b); },
       "ceil(quotient(sum(float(H), 0.1), float(W)))"},
      {[](auto& a, auto& /*b*/) { return (a * Real(0.5F)).floor(); },
       [](float a, float /*b*/) { return std::floor(a * 0.5F); }, "floor(H/2)"},
      {[](auto& a, auto& /*b*/) { return (a / Real(1.0F / 3)).floor(); },
       [](float a, float /*b*/) { return std::floor(a / (1.0F / 3)); }, "3*H"},
  };
  return all;
}

TEST(Real, HasTheValueOfFloatArithmetic) {
  for (const RealFormula& formula : real_formulas()) {
    const Extent open = formula.open(height(), width());
    EXPECT_EQ(open.text(), formula.text);
    EXPECT_TRUE(open.is_at_least(0)) << formula.text;
    for (std::int64_t a = 1; a < 200; ++a) {
      for (std::int64_t b = 1; b < 40; ++b) {
        const auto found = open.with({{"H", a}, {"W", b}}).number();
        ASSERT_EQ(found, static_cast<std::int64_t>(
                             formula.number(static_cast<float>(a), static_cast<float>(b))))
            << formula.text << " " << a << " " << b;
      }
    }
  }
}

TEST(Real, IsSimplerWhereItIsKnown) {
  EXPECT_EQ((height() * Real(1)).bits(), height().bits());
  EXPECT_EQ((height() / height()).number(), 1);
  EXPECT_EQ((Real::of(Extent::symbol("H") * 4) / height()).number(), 4);
  EXPECT_EQ(height().floor(), Extent::symbol("H"));
  EXPECT_EQ((Real(3) - Real(0.5F)).number(), 2.5F);
  EXPECT_FALSE((height() - width()).floor().is_at_least(0));
}

TEST(Real, ScaleIsWhatACountHasBesideItsExtent) {
  const Extent extent = Extent::symbol("H");
  const Real scale = width() / height();
  EXPECT_EQ(scale_of_count((height() * scale).floor(), extent)->bits(), scale.bits());
  EXPECT_EQ(scale_of_count((scale * height()).round(), extent)->bits(), scale.bits());
  EXPECT_FALSE(scale_of_count((height() * scale).floor(), Extent::symbol("T")).has_value());
  EXPECT_FALSE(scale_of_count(extent, extent).has_value());
}

TEST(Ratios, AreThoseOfFloatProducts) {
  const auto third = ratio_of(1.0F / 3);
  ASSERT_TRUE(third.has_value());
  EXPECT_EQ(third->above, 1);
  EXPECT_EQ(third->below, 3);
  EXPECT_FALSE(ratio_of(1.3F).has_value());  // 90 x 1.3F < 117
  EXPECT_FALSE(ratio_of(0).has_value());
  EXPECT_EQ(ratio_of(2.5F, true)->above, 5);
}

TEST(Real, RefusesIntegersBeyondAllExtents) {
  expect_error(ErrorKind::kShape, "exceeds 64 bits", [] { (void)Real(1e30F).floor(); });
}

}  // namespace
}  // namespace halftone::ir
