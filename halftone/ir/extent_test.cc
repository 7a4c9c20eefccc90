// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/extent.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>

#include "halftone/base/testing.h"

namespace halftone::ir {
namespace {

Extent h() { return Extent::symbol("H"); }
Extent w() { return Extent::symbol("W"); }

/// A formula of two extents and the same of two numbers.
struct Formula {
  std::function<Extent(const Extent& h, const Extent& w)> open;
  std::function<std::int64_t(std::int64_t h, std::int64_t w)> number;
  std::string text;
};

const std::vector<Formula>& formulas() {
  static const std::vector<Formula> all = {
      {[](auto& a, auto& b) { return a * 2 + b - 1; }, [](auto a, auto b) { return a * 2 + b - 1; },
       "2*H + W - 1"},
      {[](auto& a, auto& /*b*/) { return (a + 2 - 3).over(2) + 1; },
       [](auto a, auto /*b*/) { return (a - 1 + 2) / 2 - 1 + 1; }, "floor((H + 1)/2)"},
      {[](auto& a, auto& b) { return ((a + 1).over(2)).over(3) * b; },
       [](auto a, auto b) { return (a + 1) / 2 / 3 * b; }, "W*floor((H + 1)/6)"},
      {[](auto& a, auto& b) { return (a * b * 12).over(a * 4); },
       [](auto /*a*/, auto b) { return b * 3; }, "3*W"},
      {[](auto& a, auto& b) { return Extent::least(a * 3, b + 7) + Extent::greatest(a, b); },
       [](auto a, auto b) { return std::min(a * 3, b + 7) + std::max(a, b); },
       "max(H, W) + min(3*H, W + 7)"},
      {[](auto& a, auto& b) { return (a - b) * (a + b); },
       [](auto a, auto b) { return a * a - b * b; }, "H*H - W*W"},
      {[](auto& a, auto& b) { return (a * 4 + b * 6 + 5).over(2); },
       [](auto a, auto b) { return (a * 4 + b * 6 + 5) / 2; }, "2*H + 3*W + 2"},
      {[](auto& a, auto& b) { return ((a - 3) * (b * 2 + a) * b).over(b * 2 + a); },
       [](auto a, auto b) { return (a - 3) * b; }, "H*W - 3*W"},
      {[](auto& a, auto& b) { return ((a + 3) * (b + 1) + 1).over(a + 3); },
       [](auto a, auto b) { return ((a + 3) * (b + 1) + 1) / (a + 3); },
       "floor((H + H*W + 3*W + 4)/(H + 3))"},
      {[](auto& a, auto& b) { return (a + b).over(b); }, [](auto a, auto b) { return (a + b) / b; },
       "floor((H + W)/W)"},
  };
  return all;
}

TEST(Extent, HasTheValueOfTheFormulaForAllSizes) {
  for (const Formula& formula : formulas()) {
    const Extent open = formula.open(h(), w());
    EXPECT_EQ(open.text(), formula.text);
    for (std::int64_t a = 1; a < 20; ++a) {
      for (std::int64_t b = 1; b < 20; ++b) {
        EXPECT_EQ(open.with({{"H", a}, {"W", b}}).number(), formula.number(a, b)) << open.text();
        // One after the other.
        EXPECT_EQ(open.with({{"W", b}}).with({{"H", a}}).number(), formula.number(a, b));
      }
    }
  }
}

TEST(Extent, KnowsWhichIsLarger) {
  EXPECT_EQ(Extent::least(h(), h() + 1), h());
  EXPECT_EQ(Extent::greatest(h() * 2, h()), h() * 2);
  EXPECT_EQ(Extent::greatest(0, h() - 1), h() - 1);
  const Extent small = Extent::least(h(), 512);
  EXPECT_EQ(Extent::least(small, 512), small);
  const Extent large = Extent::greatest(h(), w());
  EXPECT_EQ(Extent::greatest(w(), large), large);
  EXPECT_TRUE((h() * w() + 3).is_at_least(4));
  EXPECT_FALSE((h() - 1).is_at_least(1));
  EXPECT_TRUE(h().over(2).is_at_least(0));
}

TEST(Extent, KnowsBoundsOfFunctions) {
  const Extent rest = h() - h().over(8) * 8;  // 0 to 7
  EXPECT_TRUE((Extent(8) - rest).is_at_least(1));
  EXPECT_FALSE((Extent(8) - rest).is_at_least(2));
  const Extent clamped = Extent::greatest(0, h() - 3);
  EXPECT_TRUE((h() - clamped).is_at_least(0));
  EXPECT_FALSE((h() - clamped).is_at_least(1 << 20));
  EXPECT_TRUE((Extent::greatest(h(), w()) - w()).is_at_least(0));
  EXPECT_FALSE((Extent::least(h(), w()) - w()).is_at_least(0));
  EXPECT_EQ(Extent::least(clamped, h()), clamped);
}

TEST(Extent, DividesWhatIsNotNegativeAsAWhole) {
  const Extent sum = Extent(8) - h() + h().over(8) * 8;  // 1 to 8
  const Extent quotient = sum.over(8);
  ASSERT_EQ(quotient.terms().size(), 1U);
  EXPECT_EQ(quotient.terms().begin()->second.atoms[0]->a, sum);
  EXPECT_EQ(quotient.with({{"H", 16}}), Extent(1));
  EXPECT_EQ(quotient.with({{"H", 17}}), Extent(0));
}

TEST(Extent, IsADimOfTheSameMeaning) {
  EXPECT_EQ(dim_of(7), 7);
  EXPECT_EQ(dim_of(Extent::symbol(kBatchSymbol) * 8), -8);
  const Dim sum = dim_of(h() + w());
  EXPECT_EQ(sum, dim_of(w() + h()));
  EXPECT_NE(sum, dim_of(h() - w()));
  EXPECT_TRUE(is_expression(sum));
  EXPECT_EQ(extent_of(sum), h() + w());
  EXPECT_FALSE(depends_on_batch(sum));
  EXPECT_TRUE(depends_on_batch(dim_of(h() * extent_of(kBatch))));
  const Shape shape{kBatch, sum, 3};
  EXPECT_EQ(shape.to_string(), "[N, H + W, 3]");
  EXPECT_FALSE(shape.is_static());
  EXPECT_EQ(with_sizes(shape, {{"H", 4}, {"W", 5}}), (Shape{kBatch, 9, 3}));
  EXPECT_EQ((Shape{dim_of(h() * extent_of(kBatch))}).with_batch(2), (Shape{dim_of(h() * 2)}));
  expect_error(ErrorKind::kShape, "expected known extents",
               [&] { (void)shape.with_batch(1).element_count(); });
}

TEST(Extent, BroadcastsWithWhatItMayBe) {
  const Dim a = dim_of(h());
  const Dim b = dim_of(h().over(2) * 2);
  EXPECT_EQ(broadcast({a, 1}, {1, 3}), (Shape{a, 3}));
  EXPECT_EQ(broadcast({a}, {b}), (Shape{a}));
  EXPECT_EQ(broadcast({a}, {7}), (Shape{7}));
  expect_error(ErrorKind::kShape, "do not broadcast", [&] { broadcast({a}, {dim_of(h() + 1)}); });
}

TEST(Extent, IsTheBatchOrAnExpressionWhereItIsOpen) {
  const Dim height = dim_of(h());
  EXPECT_TRUE(is_open(kBatch) && is_open(3 * kBatch) && is_open(height));
  EXPECT_TRUE(is_batch(kBatch) && is_batch(3 * kBatch));
  EXPECT_FALSE(is_batch(height) || is_open(0) || is_batch(7));
}

TEST(Extent, MayBeAtMostAnother) {
  const Dim height = dim_of(h());
  EXPECT_TRUE(may_be_at_most(3, 4) && may_be_at_most(kBatch, kBatch));
  EXPECT_FALSE(may_be_at_most(4, 3) || may_be_at_most(1, kBatch) || may_be_at_most(kBatch, 8));
  EXPECT_TRUE(may_be_at_most(dim_of(h().over(2)), height) && may_be_at_most(7, height));
  EXPECT_TRUE(may_be_at_most(height, 7) && may_be_at_most(height, dim_of(h() + 1)));
  EXPECT_FALSE(may_be_at_most(dim_of(h() + 1), height));
  EXPECT_TRUE(may_be_equal(Shape{height, 3}, Shape{7, 3}));
  EXPECT_FALSE(may_be_equal(Shape{height, 3}, Shape{7, 4}) || may_be_equal(Shape{3}, Shape{3, 3}));
}

TEST(Extent, TakesTheRestOfAReshape) {
  const Dim height = dim_of(h());
  const Dim width = dim_of(w());
  const Shape image{kBatch, 12, height, width};
  EXPECT_EQ(resolve_reshape(image, std::vector<std::int64_t>{0, 12, -1}, true),
            (Shape{kBatch, 12, dim_of(h() * w())}));
  EXPECT_EQ(resolve_extents(image, {kRemaining, 12, height, width}, true), image);
  EXPECT_TRUE(same_element_count(image, {kBatch, dim_of(h() * w() * 12)}));
  // Halves are whole where they fit.
  const Dim half = dim_of(h().over(2));
  EXPECT_EQ(resolve_extents({3, height}, {kRemaining, half, 2}, false), (Shape{3, half, 2}));
  EXPECT_EQ(resolve_extents({4, half, 6}, {height, kRemaining}, false), (Shape{height, 12}));
  EXPECT_FALSE(same_element_count({height, 2}, {dim_of(h() * 2 + 1)}));
}

TEST(Extent, RefusesWhatIsNone) {
  expect_error(ErrorKind::kShape, "expected an extent of at least 0, found -1", [] { dim_of(-1); });
  expect_error(ErrorKind::kShape, "divided by 0", [] { (void)h().over(0); });
  expect_error(ErrorKind::kShape, "exceeds 64 bits",
               [] { (void)(Extent(std::int64_t{1} << 62) * 4); });
  expect_error(ErrorKind::kShape, "too long", [] {
    Extent power = h();
    for (int i = 0; i < 20; ++i) power = power * power;
  });
}

}  // namespace
}  // namespace halftone::ir
