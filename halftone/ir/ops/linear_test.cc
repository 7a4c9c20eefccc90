// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/linear.h"

#include "halftone/base/random.h"
#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::counting;
using test::elements;
using test::evaluate;
using test::expect_error;
using test::float_type;
using test::floats;
using test::infer_shape;
using testing::ElementsAre;

TEST(FullyConnected, MultipliesAddsActivates) {
  const Tensor x = floats({2, 2}, {1, 2, -3, 4});
  const Tensor w = floats({3, 2}, {1, 0, 0, 1, 1, -1});
  const Tensor bias = floats({3}, {10, 20, 0});
  EXPECT_THAT(elements<float>(evaluate(FullyConnected{}, x, w)), ElementsAre(1, 2, -1, -3, 4, -7));
  EXPECT_THAT(elements<float>(evaluate(FullyConnected{{ActivationKind::kRelu}}, x, w, bias)),
              ElementsAre(11, 22, 0, 7, 24, 0));
  const std::vector<const Tensor*> no_bias = {&x, &w, nullptr};
  EXPECT_THAT(elements<float>(evaluate_operator(FullyConnected{}, no_bias)),
              ElementsAre(1, 2, -1, -3, 4, -7));
}

TEST(FullyConnected, TakesAnyRankAndNoElements) {
  EXPECT_EQ(infer_shape(FullyConnected{}, {{kBatch, 7, 3}, {4, 3}, {4}}), (Shape{kBatch, 7, 4}));
  EXPECT_THAT(elements<float>(evaluate(FullyConnected{}, counting({3}), counting({1, 3}))),
              ElementsAre(5));
  EXPECT_EQ(evaluate(FullyConnected{}, counting({2, 3}), counting({0, 3})).shape(), (Shape{2, 0}));
  EXPECT_THAT(elements<float>(evaluate(FullyConnected{}, counting({1, 0}), counting({2, 0}),
                                       floats({2}, {7, 8}))),
              ElementsAre(7, 8));
}

TEST(FullyConnected, TakesCodesForInputAndWeights) {
  numerics::MatrixEncoding per_channel = *test::odd_encoding();
  per_channel.granularity = numerics::Granularity::kChannel;
  per_channel.scales = numerics::StoredNumbers::of(std::vector{1.0F, 2.0F, 1.0F, 2.0F});
  const auto channel = std::make_shared<const numerics::MatrixEncoding>(per_channel);
  const ValueType x{{kBatch, 3}, {ElementType::kFloat32, test::odd_encoding()}};
  const ValueType w{{2, 3}, {ElementType::kFloat32, channel}};
  EXPECT_EQ(test::infer(FullyConnected{}, {x, w}), float_type({kBatch, 2}));
  const ValueType bad{{2, 3}, {ElementType::kFloat32, channel}};
  expect_error(ErrorKind::kShape,
               "input 0: expected one scale for the tensor, found basis(2 bits, channel)[2, 3]",
               [&] {
                 test::infer(FullyConnected{}, {bad, w});
               });
}

TEST(FullyConnected, RejectsInvalidOperands) {
  const struct {
    std::vector<Shape> inputs;
    std::string text;
  } cases[] = {
      {{{2, 3}, {3}}, "weights: expected [outputs, inputs], found [3]"},
      {{{2, 3}, {4, 5}}, "input [2, 3] does not fit weights [4, 5]"},
      {{{}, {4, 5}}, "input [] does not fit weights [4, 5]"},
      {{{2, 3}, {4, 3}, {3}}, "bias: expected [4], found [3]"},
      {{{2, 3}, {4, 3}, {1, 4}}, "bias: expected [4], found [1, 4]"},
  };
  for (const auto& [inputs, text] : cases) {
    expect_error(ErrorKind::kShape, text,
                 [&, &shapes = inputs] { infer_shape(FullyConnected{}, shapes); });
  }
  const ValueType ints = dense_type(ElementType::kInt8, {4, 3});
  expect_error(ErrorKind::kShape, "expected float32 operands, found float32[2, 3] and int8[4, 3]",
               [&] {
                 test::infer(FullyConnected{}, {float_type({2, 3}), ints});
               });
  expect_error(ErrorKind::kShape, "input 2: expected float32, found int8[4]", [] {
    test::infer(FullyConnected{},
                {float_type({2, 3}), float_type({4, 3}), dense_type(ElementType::kInt8, {4})});
  });
}

TEST(MatMul, InfersShapesAsNumPyDoes) {
  const struct {
    MatMul op;
    Shape a, b, result;
  } cases[] = {
      {{}, {2, 3}, {3, 4}, {2, 4}},
      {{true, false}, {3, 2}, {3, 4}, {2, 4}},
      {{false, true}, {2, 3}, {4, 3}, {2, 4}},
      {{true, true}, {3, 2}, {4, 3}, {2, 4}},
      {{}, {3}, {3, 4}, {4}},
      {{}, {2, 3}, {3}, {2}},
      {{}, {3}, {3}, {}},
      {{}, {kBatch, 2, 3}, {3, 4}, {kBatch, 2, 4}},
      {{}, {5, 1, 2, 3}, {6, 3, 4}, {5, 6, 2, 4}},
      {{}, {kBatch, 5, 2, 3}, {kBatch, 1, 3, 4}, {kBatch, 5, 2, 4}},
      {{}, {2, 0}, {0, 3}, {2, 3}},
  };
  for (const auto& [op, a, b, result] : cases) {
    EXPECT_EQ(infer_shape(op, {a, b}), result) << a.to_string() << b.to_string();
  }
}

TEST(MatMul, RejectsInvalidOperands) {
  expect_error(ErrorKind::kShape, "inner extents of [2, 3] and [2, 3] differ", [] {
    infer_shape(MatMul{}, {{2, 3}, {2, 3}});
  });
  expect_error(ErrorKind::kShape, "expected matrices or vectors, found [] and [3]", [] {
    infer_shape(MatMul{}, {{}, {3}});
  });
  expect_error(ErrorKind::kShape, "shapes [2] and [3] do not broadcast", [] {
    infer_shape(MatMul{}, {{2, 4, 4}, {3, 4, 4}});
  });
  expect_error(ErrorKind::kShape, "a vector cannot be transposed, found [3] and [1, 4]", [] {
    infer_shape(MatMul{true, false}, {{3}, {1, 4}});
  });
  expect_error(ErrorKind::kShape, "a vector cannot be transposed", [] {
    infer_shape(MatMul{false, true}, {{2, 3}, {3}});
  });
  expect_error(ErrorKind::kShape, "input 1: expected float32, found int8[3, 3]", [] {
    test::infer(MatMul{}, {float_type({3, 3}), dense_type(ElementType::kInt8, {3, 3})});
  });
}

Tensor random_tensor(Shape shape, Random& random) {
  Tensor result(ElementType::kFloat32, std::move(shape));
  for (float& value : result.as<float>()) value = static_cast<float>(random.normal());
  return result;
}

TEST(MatMul, TransposedOperandsEqualTransposedTensors) {
  Random random(5);
  const Tensor a = random_tensor({2, 3, 4}, random);
  const Tensor b = random_tensor({4, 5}, random);
  const std::vector<float> expected = elements<float>(evaluate(MatMul{}, a, b));
  const Tensor at = evaluate(Transpose{{0, 2, 1}}, a);
  const Tensor bt = evaluate(Transpose{{1, 0}}, b);
  EXPECT_EQ(elements<float>(evaluate(MatMul{true, false}, at, b)), expected);
  EXPECT_EQ(elements<float>(evaluate(MatMul{false, true}, a, bt)), expected);
  EXPECT_EQ(elements<float>(evaluate(MatMul{true, true}, at, bt)), expected);
  EXPECT_EQ(elements<float>(evaluate(FullyConnected{}, a, bt)), expected);
}

TEST(MatMul, BroadcastsLeadingAxes) {
  Random random(6);
  const Tensor a = random_tensor({2, 1, 2, 3}, random);
  const Tensor b = random_tensor({3, 3, 2}, random);
  const Tensor y = evaluate(MatMul{}, a, b);
  ASSERT_EQ(y.shape(), (Shape{2, 3, 2, 2}));
  for (std::size_t i = 0; i < 2; ++i) {
    for (std::size_t j = 0; j < 3; ++j) {
      const Tensor left = evaluate(Slice{0, i, 1, 1}, a).reshaped({2, 3});
      const Tensor right = evaluate(Slice{0, j, 1, 1}, b).reshaped({3, 2});
      const Tensor part = evaluate(MatMul{}, left, right);
      for (std::size_t k = 0; k < 4; ++k) {
        EXPECT_EQ(y.as<float>()[(i * 3 + j) * 4 + k], part.as<float>()[k]);
      }
    }
  }
  EXPECT_THAT(elements<float>(evaluate(MatMul{}, counting({2, 0}), counting({0, 1}))),
              ElementsAre(0, 0));
}

}  // namespace
}  // namespace halftone::ir
