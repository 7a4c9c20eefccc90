// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/pooling.h"

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::elements;
using test::evaluate;
using test::expect_error;
using test::floats;
using test::infer_shape;
using testing::ElementsAre;

TEST(Pool, TakesTheLargestOrTheMean) {
  const Tensor x = floats({1, 5, 1}, {1, -2, 6, 4, 3});
  const Pool max{PoolKind::kMax, {2}, {{2}, {1}, {1}, {0}}};
  EXPECT_THAT(elements<float>(evaluate(max, x)), ElementsAre(1, 6, 4));
  Pool mean{PoolKind::kAverage, {2}, {{2}, {1}, {1}, {0}}};
  EXPECT_THAT(elements<float>(evaluate(mean, x)), ElementsAre(1, 2, 3.5F));
  mean.count_padding = true;
  EXPECT_THAT(elements<float>(evaluate(mean, x)), ElementsAre(0.5F, 2, 3.5F));
}

TEST(Pool, KeepsChannelsAndSamplesApart) {
  const Tensor x = floats({2, 1, 2, 2}, {1, 2, 3, 4, 5, 6, 7, 8});
  const Pool mean{PoolKind::kAverage, {1, 2}, plain_window(2)};
  EXPECT_THAT(elements<float>(evaluate(mean, x)), ElementsAre(2, 3, 6, 7));
}

TEST(Pool, MayCutOffTheLastWindow) {
  const Tensor x = floats({1, 4, 1}, {1, 2, 3, 4});
  Pool mean{PoolKind::kAverage, {3}, {{2}, {1}, {0}, {0}}, true, true};
  EXPECT_THAT(elements<float>(evaluate(mean, x)), ElementsAre(2, 3.5F));
  mean.round_up = false;
  EXPECT_THAT(elements<float>(evaluate(mean, x)), ElementsAre(2));
  // A window that would start in the padding after the input is dropped.
  EXPECT_EQ(infer_shape(Pool{PoolKind::kMax, {1}, {{2}, {1}, {0}, {1}}, false, true}, {{1, 4, 1}}),
            (Shape{1, 3, 1}));
  EXPECT_EQ(infer_shape(Pool{PoolKind::kMax, {1}, {{3}, {1}, {0}, {0}}, false, true}, {{1, 3, 1}}),
            (Shape{1, 1, 1}));
}

TEST(Pool, OfCodesRoundsMeansAwayFromZero) {
  const Tensor x = test::tensor<std::int8_t>({1, 5, 1}, {1, -2, -3, 4, 127});
  const Pool max{PoolKind::kMax, {2}, {{2}, {1}, {1}, {0}}};
  EXPECT_THAT(elements<std::int8_t>(evaluate(max, x)), ElementsAre(1, -2, 127));
  const Pool mean{PoolKind::kAverage, {2}, {{2}, {1}, {1}, {0}}};
  EXPECT_THAT(elements<std::int8_t>(evaluate(mean, x)), ElementsAre(1, -3, 66));
  const Tensor unsigned_codes = test::tensor<std::uint8_t>({1, 4, 1}, {255, 254, 0, 1});
  const Pool two{PoolKind::kAverage, {2}, {{2}, {1}, {0}, {0}}};
  EXPECT_THAT(elements<std::uint8_t>(evaluate(two, unsigned_codes)), ElementsAre(255, 1));
}

TEST(Pool, RejectsInvalidOperands) {
  expect_error(ErrorKind::kShape, "count_padding: expected false for codes", [] {
    test::infer(Pool{PoolKind::kAverage, {2}, plain_window(1), true},
                {dense_type(ElementType::kInt8, {1, 4, 1})});
  });
  expect_error(ErrorKind::kShape, "input 0: expected float32, found int32[1, 4, 1]", [] {
    test::infer(Pool{PoolKind::kMax, {2}, plain_window(1)},
                {dense_type(ElementType::kInt32, {1, 4, 1})});
  });
  expect_error(ErrorKind::kShape, "kernel: expected 2 extents, found 1", [] {
    infer_shape(Pool{PoolKind::kMax, {2}, plain_window(2)}, {{1, 4, 4, 1}});
  });
  expect_error(ErrorKind::kShape, "a window of 5 does not fit an extent of 4, padding included",
               [] {
                 infer_shape(Pool{PoolKind::kMax, {5}, plain_window(1)}, {{1, 4, 1}});
               });
  expect_error(ErrorKind::kShape, "expected [N, spatial..., C], found [4, 4]", [] {
    infer_shape(Pool{PoolKind::kMax, {1}, plain_window(1)}, {{4, 4}});
  });
}

}  // namespace
}  // namespace halftone::ir
