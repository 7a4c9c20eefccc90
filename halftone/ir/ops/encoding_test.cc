// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/encoding.h"

#include <limits>

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::elements;
using test::evaluate;
using test::expect_error;
using test::float_type;
using test::floats;
using testing::ElementsAre;

TEST(Encode, ChangesTheEncodingAndKeepsTheShape) {
  const Encode encode{test::odd_encoding()};
  const ValueType type = test::infer(encode, {float_type({kBatch, 3})});
  EXPECT_EQ(type.to_string(), "basis(2 bits, tensor)[N, 3]");
  EXPECT_THAT(elements<float>(evaluate(encode, floats({4}, {-9, -1.9F, 0.1F, 2.1F}))),
              ElementsAre(-3, -1, 1, 3));
}

TEST(Encode, RejectsOtherEncodings) {
  const std::vector<ValueType> x = {float_type({kBatch, 3})};
  expect_error(ErrorKind::kShape, "expected at least one axis, found a scalar",
               [] { test::infer(Encode{test::odd_encoding()}, {float_type({})}); });
  expect_error(ErrorKind::kShape, "input 0: expected float32", [] {
    test::infer(Encode{test::odd_encoding()}, {dense_type(ElementType::kInt8, {3})});
  });
  expect_error(ErrorKind::kShape, "encoding: expected one scale",
               [&] { test::infer(Encode{}, x); });
  numerics::MatrixEncoding basis = *test::odd_encoding();
  basis.granularity = numerics::Granularity::kChannel;
  expect_error(ErrorKind::kShape, "encoding: expected one scale for the tensor", [&] {
    test::infer(Encode{std::make_shared<const numerics::MatrixEncoding>(basis)}, x);
  });
  basis = *test::odd_encoding();
  basis.scales =
      numerics::StoredNumbers::of(std::vector{1.0F, std::numeric_limits<float>::quiet_NaN()});
  expect_error(ErrorKind::kShape, "a scale or offset that is not finite", [&] {
    test::infer(Encode{std::make_shared<const numerics::MatrixEncoding>(basis)}, x);
  });
}

TEST(QuantizeLinear, RoundsToEvenShiftsAndSaturates) {
  const Tensor x = floats({7}, {-1e9F, -0.75F, -0.25F, 0.25F, 0.75F, 1e9F, kNan});
  const AffineParameters parameters{{0.5F}, {3}, 9};
  const auto quantized = [&](ElementType element) {
    return evaluate(QuantizeLinear{parameters, element}, x);
  };
  EXPECT_THAT(elements<std::int8_t>(quantized(ElementType::kInt8)),
              ElementsAre(-128, 1, 3, 3, 5, 127, 0));
  EXPECT_THAT(elements<std::uint8_t>(quantized(ElementType::kUint8)),
              ElementsAre(0, 1, 3, 3, 5, 255, 0));
  EXPECT_THAT(elements<std::int32_t>(quantized(ElementType::kInt32)),
              ElementsAre(-2000000000, 1, 3, 3, 5, 2000000000, 0));
}

TEST(QuantizeLinear, RoundsAwayFromZeroOnRequest) {
  const Tensor x = floats({6}, {0.5F, 1.5F, 2.5F, -0.5F, -2.5F, 0.49999997F});
  const QuantizeLinear op{{{1}, {10}, 0}, ElementType::kInt8, CodeRounding::kHalfAway};
  EXPECT_THAT(elements<std::int8_t>(evaluate(op, x)), ElementsAre(11, 12, 13, 9, 7, 10));
  EXPECT_EQ(attributes(op), "int8 scale=1.000000 zero_point=10 rounding half away");
}

TEST(DequantizeLinear, InvertsQuantizeOnEveryCode) {
  Tensor codes(ElementType::kInt8, {256});
  for (int i = 0; i < 256; ++i) {
    codes.as<std::int8_t>()[static_cast<std::size_t>(i)] = static_cast<std::int8_t>(i - 128);
  }
  const AffineParameters parameters{{0.037F}, {-5}, 0};
  const Tensor x = evaluate(DequantizeLinear{parameters}, codes);
  EXPECT_FLOAT_EQ(x.as<float>()[0], 0.037F * (-128 + 5));
  EXPECT_EQ(elements<std::int8_t>(evaluate(QuantizeLinear{parameters, ElementType::kInt8}, x)),
            elements<std::int8_t>(codes));
}

TEST(DequantizeLinear, TakesAParameterPerIndexOfItsAxis) {
  const AffineParameters parameters{{1, 10}, {0, 1}, 1};
  const Tensor q = test::tensor<std::int32_t>({2, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  EXPECT_THAT(elements<float>(evaluate(DequantizeLinear{parameters}, q)),
              ElementsAre(1, 2, 20, 30, 5, 6, 60, 70));
  const Tensor none(ElementType::kInt8, {0, 2});
  EXPECT_EQ(evaluate(DequantizeLinear{parameters}, none).size(), 0u);
}

TEST(DequantizeLinear, CannotOverflow) {
  const AffineParameters parameters{{1}, {std::numeric_limits<std::int32_t>::max()}, 0};
  const Tensor q = test::tensor<std::int32_t>({1}, {std::numeric_limits<std::int32_t>::min()});
  EXPECT_EQ(evaluate(DequantizeLinear{parameters}, q).as<float>()[0], -4294967296.0F);
}

TEST(Affine, RejectsParametersThatDoNotFit) {
  const float infinity = std::numeric_limits<float>::infinity();
  const struct {
    AffineParameters parameters;
    std::string text;
  } cases[] = {
      {{{}, {}, 0}, "expected a zero point for each of 0 scales, found 0"},
      {{{1}, {}, 0}, "expected a zero point for each of 1 scales, found 0"},
      {{{1, 2}, {0}, 0}, "expected a zero point for each of 2 scales, found 1"},
      {{{1, 2}, {0, 0}, 0}, "2 scales do not fit axis 0 of [3, 2]"},
      {{{1, 2}, {0, 0}, 2}, "2 scales do not fit axis 2 of [3, 2]"},
      {{{0}, {0}, 0}, "scale: expected a positive number, found 0.0"},
      {{{-1}, {0}, 0}, "scale: expected a positive number, found -1.0"},
      {{{1, infinity}, {0, 0}, 1}, "scale: expected a positive number, found inf"},
  };
  for (const auto& [parameters, text] : cases) {
    expect_error(ErrorKind::kShape, text, [&, &p = parameters] {
      test::infer(QuantizeLinear{p}, {float_type({3, 2})});
    });
    expect_error(ErrorKind::kShape, text, [&, &p = parameters] {
      test::infer(DequantizeLinear{p}, {dense_type(ElementType::kInt8, {3, 2})});
    });
  }
}

TEST(Affine, RejectsOtherElements) {
  const AffineParameters one{{1}, {0}, 0};
  expect_error(ErrorKind::kShape, "expected int8, uint8, int16 or int32 codes, found int64", [&] {
    test::infer(QuantizeLinear{one, ElementType::kInt64}, {float_type({1})});
  });
  expect_error(ErrorKind::kShape, "rounding: expected half even or half away, found twice", [&] {
    test::infer(QuantizeLinear{one, ElementType::kInt8, CodeRounding::kTwice}, {float_type({1})});
  });
  expect_error(ErrorKind::kShape, "input 0: expected float32, found int8[1]",
               [&] { test::infer(QuantizeLinear{one}, {dense_type(ElementType::kInt8, {1})}); });
  expect_error(ErrorKind::kShape,
               "expected int8, uint8, int16, int32 or int64 codes, found float32[1]",
               [&] { test::infer(DequantizeLinear{one}, {float_type({1})}); });
}

}  // namespace
}  // namespace halftone::ir
