// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/extend.h"

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::counting;
using test::elements;
using test::evaluate;
using test::expect_error;
using test::floats;
using test::infer_shape;
using test::tensor;
using testing::ElementsAre;

TEST(Pad, PadsInEveryMode) {
  const Tensor x = floats({3}, {1, 2, 3});
  const auto padded = [&](PadMode mode) {
    return elements<float>(evaluate(Pad{mode, {4}, {3}}, x));
  };
  EXPECT_THAT(padded(PadMode::kConstant), ElementsAre(0, 0, 0, 0, 1, 2, 3, 0, 0, 0));
  EXPECT_THAT(padded(PadMode::kReflect), ElementsAre(1, 2, 3, 2, 1, 2, 3, 2, 1, 2));
  EXPECT_THAT(padded(PadMode::kEdge), ElementsAre(1, 1, 1, 1, 1, 2, 3, 3, 3, 3));
  EXPECT_THAT(padded(PadMode::kWrap), ElementsAre(3, 1, 2, 3, 1, 2, 3, 1, 2, 3));
  const Tensor one = evaluate(Pad{PadMode::kReflect, {1}, {1}}, floats({1}, {7}));
  EXPECT_THAT(elements<float>(one), ElementsAre(7, 7, 7));
}

TEST(Pad, TakesAnyTypeAndAxes) {
  const Tensor x = tensor<std::int8_t>({2, 1}, {1, 2});
  const Tensor value = tensor<std::int8_t>({}, {9});
  const Tensor y = evaluate(Pad{PadMode::kConstant, {0, 1}, {1, 0}}, x, value);
  EXPECT_EQ(y.shape(), (Shape{3, 2}));
  EXPECT_THAT(elements<std::int8_t>(y), ElementsAre(9, 1, 9, 2, 9, 9));
  EXPECT_EQ(infer_shape(Pad{PadMode::kEdge, {0, 2}, {0, 1}}, {{kBatch, 4}}), (Shape{kBatch, 7}));
}

TEST(Pad, RejectsInvalidOperands) {
  expect_error(ErrorKind::kShape, "expected pads for 2 axes, found 1 and 2", [] {
    infer_shape(Pad{PadMode::kEdge, {0}, {0, 0}}, {{3, 4}});
  });
  expect_error(ErrorKind::kShape, "found the batch", [] {
    infer_shape(Pad{PadMode::kConstant, {1, 0}, {0, 0}}, {{kBatch, 4}});
  });
  expect_error(ErrorKind::kShape, "has nothing to repeat", [] {
    infer_shape(Pad{PadMode::kEdge, {1}, {0}}, {{0}});
  });
  expect_error(ErrorKind::kShape, "at most 2^40", [] {
    infer_shape(Pad{PadMode::kConstant, {~std::size_t{0}}, {0}}, {{1}});
  });
  expect_error(ErrorKind::kShape, "value: expected one element", [] {
    infer_shape(Pad{PadMode::kConstant, {1}, {0}}, {{1}, {2}});
  });
}

TEST(BroadcastTo, RepeatsByNumPysRule) {
  const Tensor y = evaluate(BroadcastTo{{2, 1, 3}}, floats({2, 1}, {1, 2}));
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  EXPECT_THAT(elements<float>(y), ElementsAre(1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2));
  EXPECT_EQ(infer_shape(BroadcastTo{{1, 5}}, {{kBatch, 1}}), (Shape{kBatch, 5}));
  EXPECT_EQ(with_batch(BroadcastTo{{kBatch, 2}}, 3), Operator(BroadcastTo{{3, 2}}));
  expect_error(ErrorKind::kShape, "do not broadcast", [] {
    infer_shape(BroadcastTo{{2, 4}}, {{2, 3}});
  });
}

TEST(Tile, RepeatsTheWhole) {
  const Tensor y = evaluate(Tile{{2, 2}}, counting({1, 2}));
  EXPECT_EQ(y.shape(), (Shape{2, 4}));
  EXPECT_THAT(elements<float>(y), ElementsAre(0, 1, 0, 1, 0, 1, 0, 1));
  EXPECT_EQ(evaluate(Tile{{0}}, counting({3})).size(), 0U);
  expect_error(ErrorKind::kShape, "found the batch", [] { infer_shape(Tile{{2}}, {{kBatch}}); });
  expect_error(ErrorKind::kShape, "at most 2^40",
               [] { infer_shape(Tile{{std::size_t{1} << 40}}, {{2}}); });
  expect_error(ErrorKind::kShape, "expected repeats for 1 axes, found 2", [] {
    infer_shape(Tile{{1, 1}}, {{2}});
  });
}

TEST(ReverseSequence, TurnsTheFirstOfEachSample) {
  const Tensor x = counting({2, 3});
  const Tensor lengths = tensor<std::int64_t>({2}, {2, 3});
  EXPECT_THAT(elements<float>(evaluate(ReverseSequence{0, 1}, x, lengths)),
              ElementsAre(1, 0, 2, 5, 4, 3));
  const Tensor three = tensor<std::int64_t>({3}, {0, 1, 2});
  EXPECT_THAT(elements<float>(evaluate(ReverseSequence{1, 0}, x, three)),
              ElementsAre(0, 1, 5, 3, 4, 2));
  const Tensor bad = tensor<std::int64_t>({2}, {2, 4});
  expect_error(ErrorKind::kShape, "length 4 is out of range for an extent of 3", [&] {
    evaluate(ReverseSequence{0, 1}, x, bad);
  });
}

}  // namespace
}  // namespace halftone::ir
