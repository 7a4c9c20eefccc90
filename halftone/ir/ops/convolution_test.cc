// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/convolution.h"

#include "halftone/base/random.h"
#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::elements;
using test::evaluate;
using test::expect_error;
using test::floats;
using test::infer_shape;
using testing::ElementsAre;

Conv conv(Window window, Dim groups = 1) { return {std::move(window), groups, {}}; }

TEST(Conv, SlidesOverOneAxis) {
  const Tensor x = floats({1, 5, 1}, {0, 1, 2, 3, 4});
  const Tensor w = floats({1, 3, 1}, {2, 3, 4});
  EXPECT_THAT(elements<float>(evaluate(conv(plain_window(1)), x, w)), ElementsAre(11, 20, 29));
  EXPECT_THAT(elements<float>(evaluate(conv({{1}, {1}, {1}, {1}}), x, w)),
              ElementsAre(4, 11, 20, 29, 18));
  EXPECT_THAT(elements<float>(evaluate(conv({{2}, {1}, {1}, {1}}), x, w)), ElementsAre(4, 20, 18));
  EXPECT_THAT(elements<float>(evaluate(conv({{1}, {2}, {0}, {1}}), x, w)), ElementsAre(22, 11));
}

TEST(Conv, AddsBiasAndActivatesPerOutput) {
  const Tensor x = floats({1, 2, 2}, {1, 2, 3, -4});
  const Tensor w = floats({2, 1, 2}, {1, 1, 2, -1});
  Conv op = conv(plain_window(1));
  op.activation = {ActivationKind::kRelu};
  EXPECT_THAT(elements<float>(evaluate(op, x, w, floats({2}, {10, -5}))), ElementsAre(13, 0, 9, 5));
}

TEST(Conv, AddsAResidualAndEncodes) {
  const Tensor x = floats({1, 3, 1}, {1, 2, 3});
  const Tensor w = floats({1, 1, 1}, {2});
  const Tensor residual = floats({1, 3, 1}, {-10, 0, 5});
  Conv op = conv(plain_window(1));
  op.activation = {ActivationKind::kRelu};
  EXPECT_THAT(elements<float>(evaluate(op, x, w, floats({1}, {1}), residual)),
              ElementsAre(0, 5, 12));
  op.codes = std::make_shared<const numerics::MatrixEncoding>(
      numerics::tensor_encoding(numerics::Basis{1, {4}, 4}));  // levels 0 and 8
  EXPECT_THAT(elements<float>(evaluate(op, x, w, floats({1}, {1}), residual)),
              ElementsAre(0, 8, 8));
  EXPECT_NE(op, conv(plain_window(1)));
}

TEST(Conv, OfOneTapIsAFullyConnectedLayer) {
  Random random(1);
  const Tensor x = test::random_tensor({2, 3, 4, 5}, random);
  const Tensor w = test::random_tensor({7, 1, 1, 5}, random);
  const Tensor flat = w.reshaped({7, 5});
  EXPECT_EQ(elements<float>(evaluate(conv(plain_window(2)), x, w)),
            elements<float>(evaluate(FullyConnected{}, x, flat)));
}

TEST(Conv, KeepsGroupsApart) {
  Random random(2);
  const Tensor x = test::random_tensor({1, 4, 4, 4}, random);
  const Tensor w = test::random_tensor({6, 3, 3, 2}, random);
  const Window window{{1, 1}, {1, 1}, {1, 1}, {1, 1}};
  const auto grouped = elements<float>(evaluate(conv(window, 2), x, w));
  std::vector<float> apart(grouped.size());
  for (std::size_t g = 0; g < 2; ++g) {
    const Tensor x_part = evaluate(Slice{3, 2 * g, 1, 2}, x);
    const Tensor w_part = evaluate(Slice{0, 3 * g, 1, 3}, w);
    const auto y = elements<float>(evaluate(conv(window), x_part, w_part));
    for (std::size_t i = 0; i < y.size(); ++i) apart[i / 3 * 6 + g * 3 + i % 3] = y[i];
  }
  EXPECT_EQ(grouped, apart);
}

TEST(Conv, InfersExtents) {
  const struct {
    Conv op;
    Shape x, w, y;
  } cases[] = {
      {conv({{2, 2}, {1, 1}, {3, 3}, {3, 3}}),
       {kBatch, 224, 224, 3},
       {64, 7, 7, 3},
       {kBatch, 112, 112, 64}},
      {conv({{1, 1}, {2, 1}, {0, 1}, {0, 1}}), {1, 9, 9, 4}, {2, 3, 3, 4}, {1, 5, 9, 2}},
      {conv(plain_window(3), 8), {2, 5, 6, 7, 8}, {16, 5, 6, 1, 1}, {2, 1, 1, 7, 16}},
      {conv(plain_window(1)), {0, 5, 1}, {1, 2, 1}, {0, 4, 1}},
  };
  for (const auto& [op, x, w, y] : cases) EXPECT_EQ(infer_shape(op, {x, w}), y) << x.to_string();
}

TEST(Conv, RejectsInvalidOperands) {
  const Window plain = plain_window(2);
  const struct {
    Conv op;
    std::vector<Shape> inputs;
    std::string text;
  } cases[] = {
      {conv(plain), {{2, 3}, {1, 1, 1, 3}}, "expected [N, spatial..., C], found [2, 3]"},
      {conv(plain),
       {{1, kBatch, 3, 2}, {1, 1, 1, 2}},
       "expected the batch as the first axis only, found [1, N, 3, 2]"},
      {conv(plain),
       {{1, 4, 4, 2}, {3, 2}},
       "weights: expected [outputs, kernel..., channels / groups] with 2 extents of the kernel, "
       "found [3, 2]"},
      {conv(plain),
       {{1, 4, 4, 2}, {3, 5, 1, 2}},
       "a window of 5 does not fit an extent of 4, padding included"},
      {conv(plain), {{1, 4, 4, 2}, {3, 0, 1, 2}}, "expected a kernel of at least one tap, found 0"},
      {conv(plain),
       {{1, 4, 4, 2}, {3, 1, 1, 3}},
       "input [1, 4, 4, 2] does not fit weights [3, 1, 1, 3] in 1 groups"},
      {conv(plain, 2), {{1, 4, 4, 2}, {3, 1, 1, 1}}, "3 outputs do not divide into 2 groups"},
      {conv(plain), {{1, 4, 4, 2}, {3, 1, 1, 2}, {4}}, "bias: expected [3], found [4]"},
      {conv({{0, 1}, {1, 1}, {0, 0}, {0, 0}}),
       {{1, 4, 4, 2}, {3, 1, 1, 2}},
       "strides: expected values from 1 to 2^31 - 1, found 0"},
      {conv({{1, 1}, {1, 1}, {0, -1}, {0, 0}}),
       {{1, 4, 4, 2}, {3, 1, 1, 2}},
       "padding before: expected values from 0 to 2^31 - 1, found -1"},
      {conv({{1, 1}, {1}, {0, 0}, {0, 0}}),
       {{1, 4, 4, 2}, {3, 1, 1, 2}},
       "dilations: expected 2 values, found 1"},
  };
  for (const auto& [op, inputs, text] : cases) {
    expect_error(ErrorKind::kShape, text,
                 [&, &tried = op, &shapes = inputs] { infer_shape(tried, shapes); });
  }
}

TEST(ConvTranspose, SpreadsEachInput) {
  const Tensor x = floats({1, 2, 1}, {1, 10});
  const Tensor w = floats({1, 3, 1}, {1, 2, 3});
  EXPECT_THAT(elements<float>(evaluate(ConvTranspose{plain_window(1), {0}}, x, w)),
              ElementsAre(1, 12, 23, 30));
  EXPECT_THAT(elements<float>(evaluate(ConvTranspose{{{2}, {1}, {1}, {0}}, {1}}, x, w)),
              ElementsAre(2, 13, 20, 30, 0));
  EXPECT_EQ(infer_shape(ConvTranspose{plain_window(1), {0}}, {{kBatch, 0, 1}, {1, 3, 1}}),
            (Shape{kBatch, 0, 1}));
}

/// <Conv(x), z> = <x, ConvTranspose(z)> with the weights' filters and channels exchanged.
TEST(ConvTranspose, IsTheAdjointOfConv) {
  Random random(3);
  const Window window{{2, 1}, {1, 2}, {1, 0}, {0, 2}};
  const Tensor x = test::random_tensor({2, 8, 7, 3}, random);
  const Tensor w = test::random_tensor({5, 3, 2, 3}, random);
  const Tensor y = evaluate(conv(window), x, w);
  const Tensor z = test::random_tensor(y.shape(), random);
  const Tensor swapped = evaluate(Transpose{{3, 1, 2, 0}}, w);
  const Tensor back = evaluate(ConvTranspose{window, {0, 0}}, z, swapped);
  ASSERT_EQ(back.shape(), x.shape());
  const auto dot = [](const Tensor& a, const Tensor& b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      sum += static_cast<double>(a.as<float>()[i]) * static_cast<double>(b.as<float>()[i]);
    }
    return sum;
  };
  EXPECT_NEAR(dot(y, z), dot(x, back), 1e-4);
}

TEST(ConvTranspose, RejectsInvalidOperands) {
  expect_error(ErrorKind::kShape, "output padding: expected 1 values, found 0", [] {
    infer_shape(ConvTranspose{plain_window(1), {}}, {{1, 2, 1}, {1, 3, 1}});
  });
  expect_error(ErrorKind::kShape, "padding of 9 exceeds an output of 4", [] {
    infer_shape(ConvTranspose{{{1}, {1}, {4}, {5}}, {0}}, {{1, 2, 1}, {1, 3, 1}});
  });
  expect_error(ErrorKind::kShape, "output padding: expected values from 0 to 2^31 - 1, found -1",
               [] {
                 infer_shape(ConvTranspose{plain_window(1), {-1}}, {{1, 2, 1}, {1, 3, 1}});
               });
}

}  // namespace
}  // namespace halftone::ir
