// SPDX-License-Identifier: Apache-2.0
// Operators that find elements, and pooling of regions. Expected values are from NumPy, ONNX's
// documentation and by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <limits>

#include "halftone/base/testing.h"
#include "halftone/ir/extent.h"
#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::floats;
using testing::ElementsAre;

std::vector<std::int64_t> integers_of(const Operator& op, const Tensor& x) {
  const std::array inputs = {&x};
  const Tensor y = evaluate_operator(op, inputs);
  const auto values = y.as<std::int64_t>();
  return {values.begin(), values.end()};
}

void expect_refusal(const Operator& op, const std::vector<ValueType>& types,
                    const std::string& text) {
  std::vector<const ValueType*> inputs;
  for (const ValueType& type : types) inputs.push_back(&type);
  expect_error(ErrorKind::kShape, text, [&] { (void)infer_output(op, inputs); });
}

TEST(Selection, ListsElementsThatAreNotZero) {
  EXPECT_THAT(integers_of(NonZero{}, floats({2, 2}, {0, 3, -1, 0})),
              ElementsAre(0, 1, -1, -1, 1, 0, -1, -1));
  EXPECT_TRUE(integers_of(NonZero{}, Tensor(ElementType::kFloat32, {2, 0})).empty());
  expect_refusal(NonZero{}, {test::float_type(Shape{})}, "expected at least one axis");
}

TEST(Selection, FindsDistinctSlices) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Tensor x = floats({6}, {2, nan, 1, 2, nan, 1});
  EXPECT_THAT(integers_of(Unique{}, x), ElementsAre(2, 0, 1, -1, -1, -1));
  EXPECT_THAT(integers_of(Unique{0, true, UniqueResult::kInverse}, x),
              ElementsAre(1, 2, 0, 1, 2, 0));
  EXPECT_THAT(integers_of(Unique{0, false}, x), ElementsAre(0, 1, 2, -1, -1, -1));
  const std::uint64_t large[] = {std::uint64_t{1} << 63, 1};
  EXPECT_THAT(integers_of(Unique{}, Tensor::from<std::uint64_t>({2}, large)), ElementsAre(1, 0));
  expect_refusal(Unique{1}, {test::float_type({3})}, "axis");
}

TEST(Selection, SuppressesBoxesThatOverlap) {
  // ONNX's test_nonmaxsuppression_suppress_by_IOU_and_scores.
  const Tensor boxes = floats({1, 6, 4}, {0, 0,  1, 1,  0, 0.1F,  1, 1.1F,  0, -0.1F, 1, 0.9F,
                                          0, 10, 1, 11, 0, 10.1F, 1, 11.1F, 0, 100,   1, 101});
  const Tensor scores = floats({1, 1, 6}, {0.9F, 0.75F, 0.6F, 0.95F, 0.5F, 0.3F});
  const std::array inputs = {&boxes, &scores};
  const Tensor y = evaluate_operator(NonMaxSuppression{3, 0.5F, 0.4F}, inputs);
  EXPECT_EQ(y.shape(), (Shape{3, 3}));
  EXPECT_THAT(y.as<std::int64_t>(), ElementsAre(0, 0, 3, 0, 0, 0, -1, -1, -1));
  const Tensor none = evaluate_operator(NonMaxSuppression{0, 0.5F}, inputs);
  EXPECT_EQ(none.shape(), (Shape{0, 3}));
  const ValueType four = test::float_type({1, 6, 4});
  expect_refusal(NonMaxSuppression{1, 0.5F}, {four, test::float_type({1, 1, 5})}, "do not fit");
  expect_refusal(NonMaxSuppression{1, 2}, {four, test::float_type({1, 1, 6})},
                 "iou_threshold: expected 0 to 1");
  const Dim open = dim_of(Extent::symbol("S"));
  const ValueType open_boxes = test::float_type({1, open, 4});
  const ValueType open_scores = test::float_type({1, 2, open});
  const std::array<const ValueType*, 2> types = {&open_boxes, &open_scores};
  EXPECT_EQ(infer_output(NonMaxSuppression{9, 0.5F}, types).shape[0],
            dim_of(Extent::least(9, Extent::symbol("S")) * 2));
}

TEST(Selection, FindsThePositionsOfMaxima) {
  const MaxPoolIndex op{{2}, {{2}, {1}, {0}, {0}}};
  EXPECT_THAT(integers_of(op, floats({1, 4, 2}, {1, 9, 5, 8, 7, 2, 7, 3})),
              ElementsAre(1, 0, 2, 3));
}

TEST(Regions, AreChecked) {
  const ValueType x = test::float_type({1, 4, 4, 2});
  const ValueType regions = test::float_type({3, 4});
  const ValueType images = dense_type(ElementType::kInt64, {3});
  expect_refusal(RoiAlign{}, {test::float_type({4, 4}), regions, images}, "expected images");
  expect_refusal(RoiAlign{}, {x, test::float_type({3, 5}), images}, "expected regions [R, 4]");
  expect_refusal(RoiAlign{0}, {x, regions, images}, "expected at least one cell");
  expect_refusal(RoiAlign{1, 1, -1}, {x, regions, images}, "sampling_ratio");
  expect_refusal(MaxRoiPool{1, 0}, {x, regions, images}, "expected at least one cell");
}

TEST(Regions, TakeMeansAndMaxima) {
  const Tensor x = floats({1, 2, 2, 1}, {1, 2, 3, 4});
  const Tensor region = floats({1, 4}, {0, 0, 1, 1});
  const std::int64_t zero = 0;
  const Tensor image = Tensor::from<std::int64_t>({1}, std::span(&zero, 1));
  const std::array inputs = {&x, &region, &image};
  const auto value = [&](const Operator& op) {
    return evaluate_operator(op, inputs).as<float>()[0];
  };
  EXPECT_EQ(value(RoiAlign{1, 1, 1, 1, false}), 2.5F);        // the centre of the four elements
  EXPECT_EQ(value(RoiAlign{1, 1, 1, 1, false, true}), 1.0F);  // 4 / 4
  EXPECT_EQ(value(MaxRoiPool{}), 4.0F);
}

TEST(Determinant, IsThatOfNumPy) {
  const Tensor x = floats({2, 2, 2}, {1, 2, 3, 4, 0, 1, 1, 0});
  const std::array inputs = {&x};
  EXPECT_THAT(evaluate_operator(Determinant{}, inputs).as<float>(), ElementsAre(-2, -1));
  const Tensor flat = floats({2, 2}, {1, 2, 2, 4});
  const std::array singular = {&flat};
  EXPECT_EQ(evaluate_operator(Determinant{}, singular).as<float>()[0], 0.0F);
  expect_refusal(Determinant{}, {test::float_type({2, 3})}, "expected square matrices");
}

}  // namespace
}  // namespace halftone::ir
