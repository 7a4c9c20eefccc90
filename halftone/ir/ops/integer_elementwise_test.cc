// SPDX-License-Identifier: Apache-2.0
// Integers and booleans in elementwise operators.
#include <limits>

#include "halftone/ir/ops/elementwise.h"
#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::elements;
using test::evaluate;
using test::expect_error;
using test::floats;
using test::tensor;
using testing::ElementsAre;

constexpr auto kLowest = std::numeric_limits<std::int32_t>::min();

Tensor booleans(const std::vector<float>& values) {
  return floats({static_cast<Dim>(values.size())}, values).cast(ElementType::kBool);
}

TEST(Binary, OfIntegersWrapsAround) {
  const Tensor a = tensor<std::int32_t>({4}, {7, -7, kLowest, 5});
  const Tensor b = tensor<std::int32_t>({4}, {3, 3, -1, 0});
  const struct {
    BinaryKind kind;
    std::vector<std::int32_t> expected;
  } cases[] = {
      {BinaryKind::kAdd, {10, -4, std::numeric_limits<std::int32_t>::max(), 5}},
      {BinaryKind::kSub, {4, -10, kLowest + 1, 5}},
      {BinaryKind::kMul, {21, -21, kLowest, 0}},
      {BinaryKind::kDiv, {2, -2, kLowest, 0}},
      {BinaryKind::kMax, {7, 3, -1, 5}},
      {BinaryKind::kMin, {3, -7, kLowest, 0}},
      {BinaryKind::kPow, {343, -343, 0, 1}},
      {BinaryKind::kPRelu, {7, -21, kLowest, 5}},
      {BinaryKind::kMod, {1, 2, 0, 0}},
      {BinaryKind::kFmod, {1, -1, 0, 0}},
      {BinaryKind::kShiftLeft, {56, -56, 0, 5}},
      {BinaryKind::kShiftRight, {0, -1, -1, 5}},
      {BinaryKind::kAnd, {3, 1, kLowest, 0}},
      {BinaryKind::kOr, {7, -5, -1, 5}},
      {BinaryKind::kXor, {4, -6, std::numeric_limits<std::int32_t>::max(), 5}},
  };
  for (const auto& [kind, expected] : cases) {
    EXPECT_EQ(elements<std::int32_t>(evaluate(Binary{kind, {}}, a, b)), expected)
        << to_string(kind);
  }
}

TEST(Binary, OfEveryWidthIsExact) {
  const auto sum = [](auto large) {
    using T = decltype(large);
    const Tensor a = tensor<T>({1}, {large});
    const Tensor b = tensor<T>({1}, {2});
    EXPECT_THAT(elements<T>(evaluate(Binary{BinaryKind::kSub, {}}, a, b)), ElementsAre(large - 2));
    EXPECT_THAT(elements<std::uint8_t>(evaluate(Binary{BinaryKind::kLess, {}}, b, a)),
                ElementsAre(1));
  };
  sum(std::numeric_limits<std::int8_t>::max());
  sum(std::numeric_limits<std::uint8_t>::max());
  sum(std::numeric_limits<std::int16_t>::max());
  sum(std::numeric_limits<std::uint16_t>::max());
  sum(std::numeric_limits<std::uint32_t>::max());
  sum(std::numeric_limits<std::int64_t>::max());
  sum(std::numeric_limits<std::uint64_t>::max());
}

TEST(Binary, NegativePowersAreTruncatedFractions) {
  const Tensor a = tensor<std::int32_t>({4}, {1, -1, -1, 2});
  const Tensor b = tensor<std::int32_t>({4}, {-5, -2, -3, -1});
  EXPECT_THAT(elements<std::int32_t>(evaluate(Binary{BinaryKind::kPow, {}}, a, b)),
              ElementsAre(1, 1, -1, 0));
}

TEST(Binary, Compares) {
  const Tensor a = floats({3}, {1, 2, kNan});
  const Tensor b = floats({3}, {2, 2, kNan});
  const struct {
    BinaryKind kind;
    std::vector<std::uint8_t> expected;
  } cases[] = {{BinaryKind::kEqual, {0, 1, 0}},
               {BinaryKind::kLess, {1, 0, 0}},
               {BinaryKind::kLessOrEqual, {1, 1, 0}},
               {BinaryKind::kGreater, {0, 0, 0}},
               {BinaryKind::kGreaterOrEqual, {0, 1, 0}}};
  for (const auto& [kind, expected] : cases) {
    const Tensor y = evaluate(Binary{kind, {}}, a, b);
    EXPECT_EQ(y.element(), ElementType::kBool);
    EXPECT_EQ(elements<std::uint8_t>(y), expected) << to_string(kind);
  }
}

TEST(Binary, OfBooleansIsLogic) {
  const Tensor a = booleans({0, 0, 1, 1});
  const Tensor b = booleans({0, 1, 0, 1});
  const auto result = [&](BinaryKind kind) {
    return elements<std::uint8_t>(evaluate(Binary{kind, {}}, a, b));
  };
  EXPECT_THAT(result(BinaryKind::kAnd), ElementsAre(0, 0, 0, 1));
  EXPECT_THAT(result(BinaryKind::kOr), ElementsAre(0, 1, 1, 1));
  EXPECT_THAT(result(BinaryKind::kXor), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(result(BinaryKind::kEqual), ElementsAre(1, 0, 0, 1));
  for (const BinaryKind kind : {BinaryKind::kAdd, BinaryKind::kLess, BinaryKind::kShiftLeft}) {
    expect_error(ErrorKind::kShape, "does not take bool", [&] {
      evaluate(Binary{kind, {}}, a, b);
    });
  }
  const Tensor x = floats({1}, {1});
  for (const BinaryKind kind : {BinaryKind::kAnd, BinaryKind::kShiftRight}) {
    expect_error(ErrorKind::kShape, "does not take float32", [&] {
      evaluate(Binary{kind, {}}, x, x);
    });
  }
}

TEST(Binary, OnlyFloatsHaveAnActivation) {
  const Tensor a = tensor<std::int32_t>({1}, {1});
  expect_error(ErrorKind::kShape, "expected no activation for int32", [&] {
    evaluate(Binary{BinaryKind::kAdd, {ActivationKind::kRelu}}, a, a);
  });
}

TEST(Unary, AcceptsIntegersAndBooleansWhereDefined) {
  const Tensor x = tensor<std::int8_t>({3}, {-128, 0, 5});
  const auto result = [&](ActivationKind kind) {
    return elements<std::int8_t>(evaluate(Unary{{kind}}, x));
  };
  EXPECT_THAT(result(ActivationKind::kAbs), ElementsAre(-128, 0, 5));
  EXPECT_THAT(result(ActivationKind::kNeg), ElementsAre(-128, 0, -5));
  EXPECT_THAT(result(ActivationKind::kSign), ElementsAre(-1, 0, 1));
  EXPECT_THAT(result(ActivationKind::kNot), ElementsAre(127, -1, -6));
  EXPECT_THAT(elements<std::uint8_t>(evaluate(Unary{{ActivationKind::kNot}}, booleans({0, 1}))),
              ElementsAre(1, 0));
  expect_error(ErrorKind::kShape, "expected float32, found int8[3]",
               [&] { evaluate(Unary{{ActivationKind::kExp}}, x); });
  expect_error(ErrorKind::kShape, "expected bool or integers, found float32[1]",
               [&] { evaluate(Unary{{ActivationKind::kNot}}, floats({1}, {1})); });
}

TEST(Unary, DetectsNanAndInfinity) {
  const Tensor x = floats({4}, {kNan, kInfinity, -kInfinity, 3});
  const auto result = [&](Activation activation) {
    return elements<std::uint8_t>(evaluate(Unary{activation}, x));
  };
  EXPECT_THAT(result({ActivationKind::kIsNan}), ElementsAre(1, 0, 0, 0));
  EXPECT_THAT(result({ActivationKind::kIsInf, 1, 1}), ElementsAre(0, 1, 1, 0));
  EXPECT_THAT(result({ActivationKind::kIsInf, 1, 0}), ElementsAre(0, 1, 0, 0));
  EXPECT_THAT(result({ActivationKind::kIsInf, 0, 1}), ElementsAre(0, 0, 1, 0));
}

TEST(Where, ChoosesWithBroadcasting) {
  const Tensor y = evaluate(Where{}, booleans({1, 0}), floats({2, 1}, {1, 2}), floats({}, {9}));
  EXPECT_EQ(y.shape(), (Shape{2, 2}));
  EXPECT_THAT(elements<float>(y), ElementsAre(1, 9, 2, 9));
  const Tensor a = tensor<std::int64_t>({1}, {4});
  expect_error(ErrorKind::kShape, "differ in type",
               [&] { evaluate(Where{}, booleans({1}), a, floats({1}, {1})); });
  expect_error(ErrorKind::kShape, "input 0: expected bool, found int64[1]",
               [&] { evaluate(Where{}, a, a, a); });
}

}  // namespace
}  // namespace halftone::ir
