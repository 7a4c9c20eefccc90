// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/elementwise.h"

#include <cmath>

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::counting;
using test::elements;
using test::evaluate;
using test::expect_error;
using test::floats;
using testing::ElementsAre;

struct Point {
  Activation activation;
  float x;
  double y;
};

TEST(Activation, HasTheValuesOfItsFormula) {
  using K = ActivationKind;
  const Point points[] = {
      {{K::kIdentity}, -2.5F, -2.5},
      {{K::kRelu}, -2, 0},
      {{K::kRelu}, 3, 3},
      {{K::kReluN1To1}, -2, -1},
      {{K::kReluN1To1}, 2, 1},
      {{K::kRelu6}, 7, 6},
      {{K::kRelu6}, -1, 0},
      {{K::kClip, -0.5F, 0.25F}, -3, -0.5},
      {{K::kClip, -0.5F, 0.25F}, 3, 0.25},
      {{K::kLeakyRelu, 0.25F}, -2, -0.5},
      {{K::kLeakyRelu, 0.25F}, 2, 2},
      {{K::kElu, 2}, -1, 2 * (std::exp(-1.0) - 1)},
      {{K::kElu, 2}, 1.5F, 1.5},
      {{K::kSelu, 2, 3}, -1, 6 * (std::exp(-1.0) - 1)},
      {{K::kSelu, 2, 3}, 1, 3},
      {{K::kCelu, 2}, -1, 2 * (std::exp(-0.5) - 1)},
      {{K::kCelu, 2}, 1, 1},
      {{K::kThresholded, 1}, 1, 0},
      {{K::kThresholded, 1}, 1.5F, 1.5},
      {{K::kTanh}, 0.5F, std::tanh(0.5)},
      {{K::kSigmoid}, -1, 1 / (1 + std::exp(1.0))},
      {{K::kHardSigmoid, 0.2F, 0.5F}, 1, 0.7},
      {{K::kHardSigmoid, 0.2F, 0.5F}, 9, 1},
      {{K::kHardSwish}, 1, 1.0 / 6 + 0.5},
      {{K::kHardSwish}, -4, 0},
      {{K::kSilu}, 2, 2 / (1 + std::exp(-2.0))},
      {{K::kGelu}, 1, (1 + std::erf(std::sqrt(0.5))) / 2},
      {{K::kGeluTanh}, 1, (1 + std::tanh(std::sqrt(2 / M_PI) * 1.044715)) / 2},
      {{K::kSoftplus}, 1, std::log1p(std::exp(1.0))},
      {{K::kSoftplus}, 1000, 1000},
      {{K::kSoftsign}, -3, -0.75},
      {{K::kSignBit}, -0.0F, 1},
      {{K::kSignBit}, 2, 0},
      {{K::kSign}, -2, -1},
      {{K::kSign}, 0, 0},
      {{K::kExp}, 1, std::exp(1.0)},
      {{K::kLog}, 2, std::log(2.0)},
      {{K::kSqrt}, 2, std::sqrt(2.0)},
      {{K::kAbs}, -2, 2},
      {{K::kNeg}, -2, 2},
      {{K::kReciprocal}, 4, 0.25},
      {{K::kSquare}, -3, 9},
      {{K::kErf}, 0.5F, std::erf(0.5)},
      {{K::kFloor}, -1.5F, -2},
      {{K::kCeil}, -1.5F, -1},
      {{K::kRound}, 2.5F, 2},
      {{K::kRound}, -1.5F, -2},
      {{K::kSin}, 0.5F, std::sin(0.5)},
      {{K::kCos}, 0.5F, std::cos(0.5)},
      {{K::kTan}, 0.5F, std::tan(0.5)},
      {{K::kAsin}, 0.5F, std::asin(0.5)},
      {{K::kAcos}, 0.5F, std::acos(0.5)},
      {{K::kAtan}, 0.5F, std::atan(0.5)},
      {{K::kSinh}, 0.5F, std::sinh(0.5)},
      {{K::kCosh}, 0.5F, std::cosh(0.5)},
      {{K::kAsinh}, 0.5F, std::asinh(0.5)},
      {{K::kAcosh}, 1.5F, std::acosh(1.5)},
      {{K::kAtanh}, 0.5F, std::atanh(0.5)},
  };
  std::size_t covered = 0;
  for (const auto& [activation, x, y] : points) {
    EXPECT_NEAR(apply(activation, x), y, 1e-6 * std::max(1.0, std::abs(y)))
        << to_string(activation) << " of " << x;
    covered = std::max(covered, static_cast<std::size_t>(activation.kind));
    EXPECT_EQ(evaluate(Unary{activation}, floats({1}, {x})).as<float>()[0], apply(activation, x));
  }
  EXPECT_EQ(covered, static_cast<std::size_t>(K::kAtanh));
}

TEST(Activation, KindsHaveDistinctNames) {
  std::vector<std::string> names;
  for (const ActivationTraits& traits : activation_table()) names.emplace_back(traits.name);
  std::ranges::sort(names);
  EXPECT_EQ(std::ranges::adjacent_find(names), names.end());
  EXPECT_EQ(std::ranges::count(names, "unknown"), 0);
  EXPECT_EQ(to_string(static_cast<ActivationKind>(200)), "unknown");
}

TEST(Activation, SaturatesWithoutNanAtTheEnds) {
  for (const ActivationKind kind :
       {ActivationKind::kTanh, ActivationKind::kSigmoid, ActivationKind::kSoftplus,
        ActivationKind::kRelu6, ActivationKind::kHardSwish, ActivationKind::kSilu,
        ActivationKind::kGelu, ActivationKind::kGeluTanh}) {
    EXPECT_FALSE(std::isnan(apply(Activation{kind}, kInfinity))) << to_string(kind);
    EXPECT_FALSE(std::isnan(apply(Activation{kind}, -kInfinity))) << to_string(kind);
    EXPECT_TRUE(std::isnan(apply(Activation{kind}, kNan))) << to_string(kind);
  }
}

TEST(Activation, ProductsVanishAtMinusInfinity) {
  for (const ActivationKind kind : {ActivationKind::kHardSwish, ActivationKind::kSilu,
                                    ActivationKind::kGelu, ActivationKind::kGeluTanh}) {
    EXPECT_EQ(apply(Activation{kind}, -kInfinity), 0.0F) << to_string(kind);
    EXPECT_EQ(apply(Activation{kind}, -3e38F), 0.0F) << to_string(kind);
    EXPECT_EQ(apply(Activation{kind}, 3e38F), 3e38F) << to_string(kind);
  }
}

TEST(Binary, HasTheValuesOfItsKind) {
  const struct {
    BinaryKind kind;
    std::string_view name;
    float expected;
  } cases[] = {{BinaryKind::kAdd, "Add", 1},  {BinaryKind::kSub, "Sub", -5},
               {BinaryKind::kMul, "Mul", -6}, {BinaryKind::kDiv, "Div", -2.0F / 3},
               {BinaryKind::kMax, "Max", 3},  {BinaryKind::kMin, "Min", -2},
               {BinaryKind::kPow, "Pow", -8}, {BinaryKind::kPRelu, "PRelu", -6},
               {BinaryKind::kMod, "Mod", 1},  {BinaryKind::kFmod, "Fmod", -2}};
  const Tensor a = floats({1}, {-2});
  const Tensor b = floats({1}, {3});
  for (const auto& [kind, name, expected] : cases) {
    EXPECT_EQ(to_string(kind), name);
    EXPECT_EQ(evaluate(Binary{kind, {}}, a, b).as<float>()[0], expected) << name;
  }
  EXPECT_EQ(apply(BinaryKind::kPRelu, 2, 7), 2);
  EXPECT_EQ(to_string(static_cast<BinaryKind>(99)), "unknown");
}

TEST(BinaryTable, HasPartialsWhereResultsAreFloats) {
  for (const BinaryTraits& traits : binary_table()) {
    EXPECT_EQ(to_string(traits.kind), traits.name);
    EXPECT_EQ(is_differentiable(traits.kind), traits.value != nullptr && !traits.compares)
        << traits.name;
    EXPECT_EQ(is_comparison(traits.kind), traits.compares) << traits.name;
  }
}

TEST(BinaryTable, HasTheSlopesOfTheValues) {
  constexpr float kStep = 1.0F / 256;
  // Of the values, at most 17, roundings of 2^-24 over a step; of the slopes, a sixth of the third
  // derivative, at most 70, times the step squared.
  constexpr float kTolerance = 17 * 0x1p-24F / kStep + 70 * kStep * kStep / 6;
  for (const BinaryTraits& traits : binary_table()) {
    if (traits.partials == nullptr) continue;
    for (const float a : {1.25F, 3.5F, -2.75F}) {
      for (const float b : {2.25F, 0.75F}) {
        if (traits.kind == BinaryKind::kPow && a < 0) continue;
        const auto slope = [&](float by_a, float by_b) {
          return (traits.value(a + by_a, b + by_b) - traits.value(a - by_a, b - by_b)) /
                 (2 * kStep);
        };
        const Partials partials = traits.partials(a, b);
        EXPECT_NEAR(partials.a, slope(kStep, 0), kTolerance) << traits.name << ' ' << a << ' ' << b;
        EXPECT_NEAR(partials.b, slope(0, kStep), kTolerance) << traits.name << ' ' << a << ' ' << b;
      }
    }
  }
}

TEST(BinaryTable, KnowsWhatOperandsDo) {
  for (const BinaryTraits& traits : binary_table()) {
    if (traits.value == nullptr) continue;
    for (const float a : {1.5F, -2.5F, 0.0F}) {
      if (traits.neutral) {
        EXPECT_EQ(traits.value(a, *traits.neutral), a) << traits.name;
      }
      for (const float b : {0.75F, -3.0F}) {
        const float y = traits.value(a, b);
        if (traits.commutes) {
          EXPECT_EQ(y, traits.value(b, a)) << traits.name;
        }
        if (traits.selects) {
          EXPECT_TRUE(y == a || y == b) << traits.name;
        }
      }
    }
  }
}

TEST(Binary, BroadcastsThenActivates) {
  const Binary sub{BinaryKind::kSub, {ActivationKind::kRelu}};
  const Tensor result = evaluate(sub, counting({2, 1, 3}), floats({2, 1}, {1, 3}));
  EXPECT_EQ(result.shape(), (Shape{2, 2, 3}));
  EXPECT_THAT(elements<float>(result), ElementsAre(0, 0, 1, 0, 0, 0, 2, 3, 4, 0, 1, 2));
  EXPECT_EQ(evaluate(sub, counting({0, 3}), counting({3})).shape(), (Shape{0, 3}));
  EXPECT_THAT(elements<float>(evaluate(sub, floats({}, {5}), floats({}, {2}))), ElementsAre(3));
}

TEST(Elementwise, RulesKeepTheBatchAndNeedFloats) {
  EXPECT_EQ(test::infer_shape(Unary{}, {{kBatch, 2}}), (Shape{kBatch, 2}));
  EXPECT_EQ(test::infer_shape(Binary{}, {{kBatch, 2}, {2}}), (Shape{kBatch, 2}));
  const ValueType ints = dense_type(ElementType::kInt32, {2});
  const ValueType codes{{2}, {ElementType::kFloat32, test::odd_encoding()}};
  expect_error(ErrorKind::kShape, "input 0: expected float32, found int32[2]",
               [&] { test::infer(Unary{}, {ints}); });
  expect_error(ErrorKind::kShape, "operands float32[2] and int32[2] differ in type", [&] {
    test::infer(Binary{}, {test::float_type({2}), ints});
  });
  expect_error(ErrorKind::kShape,
               "input 0: expected dense elements, found basis(2 bits, tensor)[2]",
               [&] { test::infer(Unary{}, {codes}); });
  expect_error(ErrorKind::kShape, "expected dense elements, found basis(2 bits, tensor)[2]",
               [&] { test::infer(Cast{}, {codes}); });
}

TEST(Cast, ConvertsEachElement) {
  const Cast to_int{ElementType::kInt8};
  EXPECT_EQ(test::infer(to_int, {test::float_type({kBatch})}),
            dense_type(ElementType::kInt8, {kBatch}));
  EXPECT_THAT(elements<std::int8_t>(evaluate(to_int, floats({2}, {300, -1.5F}))),
              ElementsAre(127, -1));
}

}  // namespace
}  // namespace halftone::ir
