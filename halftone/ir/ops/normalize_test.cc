// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/normalize.h"

#include <cmath>

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::counting;
using test::evaluate;
using test::expect_error;
using test::floats;

TEST(Softmax, SumsToOneAlongItsAxis) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    const Tensor x = counting({2, 3, 4});
    const Tensor y = evaluate(Softmax{axis}, x);
    std::vector<std::size_t> order = {0, 1, 2};
    std::swap(order[axis], order[2]);
    const Tensor lines = evaluate(Transpose{order}, y);
    const auto extent = static_cast<std::size_t>(lines.shape()[2]);
    for (std::size_t line = 0; line < lines.size() / extent; ++line) {
      double sum = 0;
      for (std::size_t i = 0; i < extent; ++i) {
        sum += static_cast<double>(lines.as<float>()[line * extent + i]);
      }
      EXPECT_NEAR(sum, 1, 1e-6) << "axis " << axis << " line " << line;
    }
  }
}

TEST(Softmax, HasTheValuesOfItsFormula) {
  const Tensor x = floats({1, 2}, {0, std::log(3.0F)});
  EXPECT_NEAR(evaluate(Softmax{1}, x).as<float>()[1], 0.75, 1e-6);
  EXPECT_NEAR(evaluate(Softmax{1, 2}, x).as<float>()[1], 0.9, 1e-6);
  EXPECT_NEAR(evaluate(Softmax{1, 1, true}, x).as<float>()[1], std::log(0.75), 1e-6);
}

// e^(ln 3 (q - 7)): each step below the maximum divides by three.
TEST(Softmax, TakesCodesWithTheirScaleInBeta) {
  const Tensor q = test::tensor<std::int8_t>({1, 3}, {7, 6, -128});
  const Tensor y = evaluate(Softmax{1, std::log(3.0F)}, q);
  EXPECT_EQ(y.element(), ElementType::kFloat32);
  EXPECT_NEAR(y.as<float>()[0], 0.75, 1e-6);
  EXPECT_NEAR(y.as<float>()[1], 0.25, 1e-6);
  EXPECT_NEAR(y.as<float>()[2], 0, 1e-6);
  const Tensor turned = test::tensor<std::uint8_t>({3, 1}, {255, 254, 120});
  EXPECT_EQ(test::elements<float>(evaluate(Softmax{0, std::log(3.0F)}, turned)),
            test::elements<float>(y));
}

TEST(Softmax, HandlesLargeValuesAndEmptyAxes) {
  const Tensor y = evaluate(Softmax{0}, floats({3}, {1e30F, 1e30F, -1e30F}));
  EXPECT_THAT(test::elements<float>(y), testing::ElementsAre(0.5F, 0.5F, 0));
  EXPECT_EQ(evaluate(Softmax{1}, counting({2, 0})).shape(), (Shape{2, 0}));
  EXPECT_EQ(evaluate(Softmax{1}, counting({0, 2})).shape(), (Shape{0, 2}));
}

TEST(Softmax, NeedsFloatsAndAnExistingAxis) {
  EXPECT_EQ(test::infer_shape(Softmax{1}, {{kBatch, 5}}), (Shape{kBatch, 5}));
  expect_error(ErrorKind::kShape, "axis 2 does not fit [2, 2]", [] {
    test::infer_shape(Softmax{2}, {{2, 2}});
  });
  expect_error(ErrorKind::kShape, "axis 0 does not fit []",
               [] { test::infer_shape(Softmax{0}, {{}}); });
  expect_error(ErrorKind::kShape, "input 0: expected float32, found int32[2]",
               [] { test::infer(Softmax{0}, {dense_type(ElementType::kInt32, {2})}); });
  expect_error(ErrorKind::kShape, "log: expected false for codes", [] {
    test::infer(Softmax{0, 1, true}, {dense_type(ElementType::kInt8, {2})});
  });
}

TEST(Normalize, HasTheValuesOfItsFormula) {
  const Tensor x = floats({2, 2, 2}, {1, 3, 5, 7, 2, 2, 2, 2});
  const Tensor y = evaluate(Normalize{{1, 2}, 0, true}, x);
  const double deviation = std::sqrt(5.0);
  EXPECT_NEAR(y.as<float>()[0], -3 / deviation, 1e-6);
  EXPECT_NEAR(y.as<float>()[3], 3 / deviation, 1e-6);
  EXPECT_EQ(evaluate(Normalize{{1, 2}, 1e-5F, true}, x).as<float>()[4], 0);
  const Tensor rms = evaluate(Normalize{{2}, 1, false}, x);
  EXPECT_NEAR(rms.as<float>()[1], 3 / std::sqrt(6.0), 1e-6);
  const Tensor middle = evaluate(Normalize{{0}, 0, true}, x);
  EXPECT_NEAR(middle.as<float>()[0], -1, 1e-6);
  EXPECT_EQ(evaluate(Normalize{{1}, 0, true}, counting({2, 0})).size(), 0U);
  expect_error(ErrorKind::kShape, "found the batch", [] {
    test::infer_shape(Normalize{{0}}, {{kBatch, 4}});
  });
}

TEST(LocalNormalize, SumsOverExistingNeighbours) {
  const Tensor x = floats({1, 4, 1}, {1, 2, 3, 4});
  const Tensor y = evaluate(LocalNormalize{1, 1, 1, 0.5F, 1, 2}, x);
  EXPECT_THAT(test::elements<float>(y), testing::ElementsAre(testing::FloatNear(1 / 4.5F, 1e-6F),
                                                             testing::FloatNear(2 / 9.0F, 1e-6F),
                                                             testing::FloatNear(3 / 16.5F, 1e-6F),
                                                             testing::FloatNear(4 / 14.5F, 1e-6F)));
  const Tensor far = evaluate(LocalNormalize{1, 9, ~std::size_t{0}, 1, 0, 1}, x);
  EXPECT_THAT(test::elements<float>(far), testing::ElementsAre(1, 2, 3, 4));
  expect_error(ErrorKind::kShape, "axis 3 does not fit", [] {
    test::infer_shape(LocalNormalize{3}, {{2, 2}});
  });
}

}  // namespace
}  // namespace halftone::ir
