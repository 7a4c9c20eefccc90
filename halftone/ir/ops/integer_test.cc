// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/integer.h"

#include <limits>

#include "halftone/ir/ops/convolution.h"
#include "halftone/ir/ops/linear.h"
#include "halftone/ir/testing.h"
#include "halftone/numerics/integer_grid.h"

namespace halftone::ir {
namespace {

using test::elements;
using test::evaluate;
using test::expect_error;
using test::float_type;
using test::tensor;
using testing::ElementsAre;

using Int8 = std::int8_t;
using Int32 = std::int32_t;
using Uint8 = std::uint8_t;

ValueType codes(Shape shape, ElementType element = ElementType::kInt8) {
  return dense_type(element, std::move(shape));
}

TEST(IntegerFullyConnected, SubtractsZeroPointsAndAddsTheBias) {
  const Tensor x = tensor<Uint8>({2, 2}, {10, 11, 255, 0});
  const Tensor w = tensor<Int8>({2, 2}, {1, -2, 3, 127});
  const Tensor bias = tensor<Int32>({2}, {100, -100});
  const FullyConnected op{{}, {10, {0, 3}}};
  EXPECT_THAT(elements<Int32>(evaluate(op, x, w, bias)),
              ElementsAre(100 + 0 - 2, -100 + 0 + 124, 100 + 245 + 20, -100 + 0 - 1240));
  EXPECT_THAT(elements<Int32>(evaluate(FullyConnected{}, x, w)), ElementsAre(-12, 1427, 255, 765));
}

TEST(IntegerMatMul, IsAFullyConnectedWithTransposedWeights) {
  const Tensor x = tensor<Int8>({2, 3}, {1, -2, 3, -4, 5, -128});
  const Tensor w = tensor<Uint8>({2, 3}, {0, 1, 2, 255, 254, 3});
  const ZeroPoints zero_points{-3, {7, 9}};
  const auto expected = elements<Int32>(evaluate(FullyConnected{{}, zero_points}, x, w));
  EXPECT_EQ(elements<Int32>(evaluate(MatMul{false, true, zero_points}, x, w)), expected);
  const Tensor turned = tensor<Uint8>({3, 2}, {0, 255, 1, 254, 2, 3});
  EXPECT_EQ(elements<Int32>(evaluate(MatMul{false, false, zero_points}, x, turned)), expected);
}

TEST(IntegerConv, PadsWithTheZeroPoint) {
  const Tensor x = tensor<Int8>({1, 3, 1}, {5, 6, 7});
  const Tensor w = tensor<Int8>({1, 3, 1}, {1, 10, 100});
  Conv op{plain_window(1)};
  op.window.pads_before = op.window.pads_after = {1};
  op.zero_points.x = 4;
  EXPECT_THAT(elements<Int32>(evaluate(op, x, w)), ElementsAre(210, 321, 32));
  op.zero_points.w = {1};
  EXPECT_THAT(elements<Int32>(evaluate(op, x, w, tensor<Int32>({1}, {1000}))),
              ElementsAre(1000 + 9 + 198, 1000 + 18 + 297, 1000 + 27));
}

TEST(IntegerConv, KeepsGroupsApart) {
  const Tensor x = tensor<Int8>({1, 1, 2}, {5, 7});
  const Tensor w = tensor<Int8>({2, 1, 1}, {2, 3});
  EXPECT_THAT(elements<Int32>(evaluate(Conv{plain_window(1), 2}, x, w)), ElementsAre(10, 21));
}

TEST(IntegerProducts, WrapAround) {
  const Tensor x = tensor<Int8>({1, 1}, {1});
  const Tensor w = tensor<Int8>({1, 1}, {1});
  const Tensor bias = tensor<Int32>({1}, {std::numeric_limits<Int32>::max()});
  EXPECT_THAT(elements<Int32>(evaluate(FullyConnected{}, x, w, bias)),
              ElementsAre(std::numeric_limits<Int32>::min()));
}

TEST(IntegerProducts, RejectInvalidOperands) {
  const ValueType x = codes({2, 3});
  const ValueType w = codes({4, 3});
  EXPECT_EQ(test::infer(FullyConnected{}, {x, w}), codes({2, 4}, ElementType::kInt32));
  const struct {
    FullyConnected op;
    std::vector<ValueType> inputs;
    std::string text;
  } cases[] = {
      {{{ActivationKind::kRelu}, {}}, {x, w}, "an integer product takes no activation"},
      {{{}, {200, {}}}, {x, w}, "zero point: expected one of int8, found 200"},
      {{{}, {0, {0, 0}}}, {x, w}, "expected a zero point for each of 4 outputs, found 2"},
      {{{}, {0, {-129}}}, {x, w}, "zero point: expected one of int8, found -129"},
      {{}, {x, float_type({4, 3})}, "expected float32 operands, found int8[2, 3]"},
      {{}, {x, w, float_type({4})}, "bias of integers: expected int32, found float32[4]"},
      {{}, {x, w, codes({3}, ElementType::kInt32)}, "bias: expected [4], found [3]"},
      {{{}, {1, {}}},
       {float_type({2, 3}), float_type({4, 3})},
       "zero points: expected none for float32 operands"},
  };
  for (const auto& [op, inputs, text] : cases) {
    expect_error(ErrorKind::kShape, text, [&, &o = op, &types = inputs] { test::infer(o, types); });
  }
}

TEST(Requantize, RoundsTiesToEvenAndSaturates) {
  const Tensor x = tensor<Int32>({1, 5}, {1, 3, -1, 1000, -1000});
  EXPECT_THAT(elements<Int8>(evaluate(Requantize{{0.5}}, x)), ElementsAre(0, 2, 0, 127, -128));
  EXPECT_THAT(elements<Int8>(evaluate(Requantize{{0.5}, 10}, x)),
              ElementsAre(10, 12, 10, 127, -128));
  const Requantize relu{{0.5}, -4, ElementType::kInt8, -4, 6};
  EXPECT_THAT(elements<Int8>(evaluate(relu, x)), ElementsAre(-4, -2, -4, 6, -4));
  const Requantize unsigned_codes{{0.5}, 1, ElementType::kUint8, 0, 255};
  EXPECT_THAT(elements<Uint8>(evaluate(unsigned_codes, x)), ElementsAre(1, 3, 1, 255, 0));
}

TEST(Requantize, HasAMultiplierForEachOutput) {
  const Tensor x = tensor<Int32>({2, 2}, {4, 4, 8, 8});
  EXPECT_THAT(elements<Int8>(evaluate(Requantize{{1, 0.25}}, x)), ElementsAre(4, 1, 8, 2));
}

TEST(Requantize, TakesSumsOfAnySize) {
  const Int32 max = std::numeric_limits<Int32>::max();
  EXPECT_THAT(elements<Int8>(evaluate(Requantize{{1e300}}, tensor<Int32>({2}, {max, -max}))),
              ElementsAre(127, -128));
}

TEST(Requantize, RoundsTwiceOnRequest) {
  const Tensor x = tensor<Int32>({1, 6}, {1, 3, 5, -1, -3, -5});
  Requantize op{{0.5}};
  op.rounding = CodeRounding::kTwice;
  // 0.5 is 2^30 / 2^31: the first step rounds up.
  EXPECT_THAT(elements<Int8>(evaluate(op, x)), ElementsAre(1, 2, 3, 0, -1, -2));
  // 0.25 also shifts, rounding away from zero: 5 / 4 becomes 3 / 2, then 2.
  op.multipliers = {0.25};
  EXPECT_THAT(elements<Int8>(evaluate(op, x)), ElementsAre(1, 1, 2, 0, -1, -1));
}

TEST(Requantize, RoundsTiesAwayFromZeroOnRequest) {
  const Tensor x = tensor<Int32>({1, 6}, {1, 3, 5, -1, -3, -5});
  Requantize op{{0.5}};
  EXPECT_THAT(elements<Int8>(evaluate(op, x)), ElementsAre(0, 2, 2, 0, -2, -2));
  op.rounding = CodeRounding::kHalfAway;
  EXPECT_THAT(elements<Int8>(evaluate(op, x)), ElementsAre(1, 2, 3, -1, -2, -3));
}

TEST(Requantize, IsTheFixedMultiplierOfItsColumn) {
  Random random(41);
  const Tensor x = test::uniform_tensor({50, 3}, random, -3e4, 3e4).cast(ElementType::kInt32);
  for (const std::int64_t count : {1, 49, 64}) {
    Requantize op{{0.0031, 0.07, 1.5}, -4};
    op.rounding = CodeRounding::kTwice;
    op.count = count;
    const Tensor q = evaluate(op, x);
    for (std::size_t i = 0; i < x.size(); ++i) {
      const auto m = numerics::divided(numerics::fixed_multiplier(op.multipliers[i % 3]), count);
      const Int32 wanted = numerics::multiply(x.as<Int32>()[i], m) - 4;
      EXPECT_EQ(q.as<Int8>()[i], std::clamp(wanted, -128, 127));
    }
  }
}

TEST(Requantize, ShowsItsRounding) {
  Requantize op{{0.5}, 3};
  EXPECT_EQ(attributes(op), "int8 multiplier=0.500000 zero_point=3");
  op.rounding = CodeRounding::kTwice;
  op.count = 49;
  EXPECT_EQ(attributes(op), "int8 multiplier=0.500000 zero_point=3 rounding twice mean of 49");
}

TEST(Requantize, RejectsInvalidOperands) {
  const ValueType sums = codes({2, 3}, ElementType::kInt32);
  const struct {
    Requantize op;
    ValueType input;
    std::string text;
  } cases[] = {
      {{{1}}, codes({2, 3}), "expected int32, found int8[2, 3]"},
      {{{1, 2}}, sums, "2 multipliers do not fit the last axis of [2, 3]"},
      {{{}}, sums, "0 multipliers do not fit"},
      {{{-1}}, sums, "multiplier: expected a positive number, found -1"},
      {{{1}, 200}, sums, "zero point: expected one of int8, found 200"},
      {{{1}, 0, ElementType::kInt32}, sums, "expected int8 or uint8 codes, found int32"},
      {{{1}, 0, ElementType::kInt8, 5, 4}, sums, "bounds: expected a range within int8"},
      {{{1}, 0, ElementType::kUint8}, sums, "bounds: expected a range within uint8"},
      {{{2e9}, 0, ElementType::kInt8, -128, 127, CodeRounding::kTwice}, sums, "below 2^30"},
      {{{1}, 0, ElementType::kInt8, -128, 127, CodeRounding::kTwice, 0}, sums, "count: expected 1"},
      {{{1}, 0, ElementType::kInt8, -128, 127, CodeRounding::kHalfEven, 2}, sums, "found 2"},
  };
  for (const auto& [op, input, text] : cases) {
    expect_error(ErrorKind::kShape, text, [&, &o = op, &i = input] { test::infer(o, {i}); });
  }
}

/// 2 (x - lowest code) - 200.
Lookup doubled(ElementType element) {
  Lookup op{element, {}};
  for (Int32 i = 0; i < 256; ++i) op.table.push_back(2 * i - 200);
  return op;
}

TEST(Lookup, IndexesItsTableFromTheLowestCode) {
  const Lookup op = doubled(ElementType::kInt32);
  const Tensor q = tensor<Int8>({3}, {-128, 0, 127});
  EXPECT_THAT(elements<Int32>(evaluate(op, q)), ElementsAre(-200, 56, 310));
  const Tensor u = tensor<Uint8>({3}, {0, 100, 255});
  EXPECT_THAT(elements<Int32>(evaluate(op, u)), ElementsAre(-200, 0, 310));
  const Lookup same{ElementType::kUint8, std::vector<Int32>(256, 255)};
  EXPECT_THAT(elements<Uint8>(evaluate(same, q)), ElementsAre(255, 255, 255));
  EXPECT_EQ(attributes(op), "int32 from -200 to 310");
}

TEST(Lookup, RejectsInvalidOperands) {
  const struct {
    Lookup op;
    ValueType input;
    std::string text;
  } cases[] = {
      {doubled(ElementType::kInt32), codes({2}, ElementType::kInt32), "expected int8 or uint8"},
      {doubled(ElementType::kInt64), codes({2}), "expected int8, uint8 or int32, found int64"},
      {doubled(ElementType::kInt8), codes({2}), "table: expected values of int8, found -200"},
      {{ElementType::kInt8, {1, 2}},
       codes({2}),
       "table: expected 256 values, one per code, found 2"},
  };
  for (const auto& [op, input, text] : cases) {
    expect_error(ErrorKind::kShape, text, [&, &o = op, &i = input] { test::infer(o, {i}); });
  }
}

}  // namespace
}  // namespace halftone::ir
