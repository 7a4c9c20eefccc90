// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/ops/layout.h"

#include <limits>

#include "halftone/base/random.h"
#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::counting;
using test::elements;
using test::evaluate;
using test::expect_error;
using test::infer_shape;
using testing::ElementsAre;

TEST(Layout, RejectsCodes) {
  const ValueType codes{{2}, {ElementType::kFloat32, test::odd_encoding()}};
  const std::vector<Operator> operators = {Reshape{{2}}, Transpose{{0}}, Concat{},
                                           Slice{0, 0, 1, 1}};
  for (const Operator& op : operators) {
    expect_error(ErrorKind::kShape,
                 "input 0: expected dense elements, found basis(2 bits, tensor)[2]",
                 [&] { test::infer(op, {codes}); });
  }
}

TEST(Layout, MovesElementsOfEverySize) {
  for (const ElementType type : {ElementType::kInt8, ElementType::kFloat32, ElementType::kInt64}) {
    const Tensor x = counting({2, 3}).cast(type);
    const Tensor turned = evaluate(Transpose{{1, 0}}, x);
    EXPECT_EQ(turned.element(), type);
    EXPECT_THAT(elements<float>(turned.cast(ElementType::kFloat32)), ElementsAre(0, 3, 1, 4, 2, 5));
  }
}

TEST(Reshape, KeepsTheElementsInOrder) {
  const Tensor y = evaluate(Reshape{{3, 2}}, counting({2, 3}));
  EXPECT_EQ(y.shape(), (Shape{3, 2}));
  EXPECT_THAT(elements<float>(y), ElementsAre(0, 1, 2, 3, 4, 5));
}

TEST(Reshape, NeedsEqualCountsForEveryBatch) {
  EXPECT_EQ(infer_shape(Reshape{{kBatch, 784}}, {{kBatch, 28, 28}}), (Shape{kBatch, 784}));
  EXPECT_EQ(infer_shape(Reshape{{kBatch, 0}}, {{kBatch, 0, 3}}), (Shape{kBatch, 0}));
  for (const Shape& bad : {Shape{784}, Shape{5, 784}, Shape{kBatch, 783}}) {
    expect_error(ErrorKind::kShape, "cannot reshape [N, 784] to " + bad.to_string(), [&] {
      infer_shape(Reshape{bad}, {{kBatch, 784}});
    });
  }
}

TEST(Transpose, MovesAxes) {
  EXPECT_EQ(infer_shape(Transpose{{2, 0, 1}}, {{kBatch, 4, 5}}), (Shape{5, kBatch, 4}));
  const Tensor y = evaluate(Transpose{{2, 0, 1}}, counting({2, 3, 2}));
  EXPECT_EQ(y.shape(), (Shape{2, 2, 3}));
  EXPECT_THAT(elements<float>(y), ElementsAre(0, 2, 4, 6, 8, 10, 1, 3, 5, 7, 9, 11));
  EXPECT_THAT(elements<float>(evaluate(Transpose{{}}, counting({}))), ElementsAre(0));
  EXPECT_EQ(evaluate(Transpose{{1, 0}}, counting({0, 3})).shape(), (Shape{3, 0}));
}

TEST(Transpose, RejectsInvalidPermutations) {
  expect_error(ErrorKind::kShape, "a permutation of 1 axes does not fit [2, 3]", [] {
    infer_shape(Transpose{{0}}, {{2, 3}});
  });
  expect_error(ErrorKind::kShape, "expected a permutation, found axis 1 twice or out of range", [] {
    infer_shape(Transpose{{1, 1}}, {{2, 3}});
  });
  expect_error(ErrorKind::kShape, "found axis 2 twice or out of range", [] {
    infer_shape(Transpose{{0, 2}}, {{2, 3}});
  });
}

TEST(Concat, JoinsAlongAnAxis) {
  const Tensor y = evaluate(Concat{1}, counting({2, 1}), counting({2, 2}), counting({2, 0}));
  EXPECT_EQ(y.shape(), (Shape{2, 3}));
  EXPECT_THAT(elements<float>(y), ElementsAre(0, 0, 1, 1, 2, 3));
  EXPECT_EQ(infer_shape(Concat{1}, {{kBatch, 2}, {kBatch, 3}}), (Shape{kBatch, 5}));
  EXPECT_EQ(infer_shape(Concat{0}, {{kBatch, 2}}), (Shape{kBatch, 2}));
}

TEST(Concat, RejectsMismatchedShapes) {
  expect_error(ErrorKind::kShape, "axis 2 does not fit [2, 3]", [] {
    infer_shape(Concat{2}, {{2, 3}});
  });
  expect_error(ErrorKind::kShape, "inputs [2, 3] and [4, 3] differ outside the concatenated axis",
               [] {
                 infer_shape(Concat{1}, {{2, 3}, {4, 3}});
               });
  expect_error(ErrorKind::kShape,
               "inputs float32[N, 3] and float32[N, 3] cannot be joined along axis 0", [] {
                 infer_shape(Concat{0}, {{kBatch, 3}, {kBatch, 3}});
               });
  expect_error(ErrorKind::kShape, "cannot be joined along axis 0", [] {
    infer_shape(Concat{0}, {{2, 3}, {2}});
  });
  expect_error(ErrorKind::kShape, "float32[2] and int8[2] cannot be joined", [] {
    test::infer(Concat{0}, {test::float_type({2}), dense_type(ElementType::kInt8, {2})});
  });
  expect_error(ErrorKind::kShape, "2^40", [] {
    const Shape max{Dim{1} << 40};
    infer_shape(Concat{0}, {max, max});
  });
}

TEST(Slice, TakesEveryStepAlongItsAxis) {
  const Tensor x = counting({2, 5});
  EXPECT_THAT(elements<float>(evaluate(Slice{1, 1, 2, 2}, x)), ElementsAre(1, 3, 6, 8));
  EXPECT_THAT(elements<float>(evaluate(Slice{1, 4, -2, 3}, x)), ElementsAre(4, 2, 0, 9, 7, 5));
  EXPECT_THAT(elements<float>(evaluate(Slice{0, 1, 1, 1}, x)), ElementsAre(5, 6, 7, 8, 9));
  EXPECT_EQ(evaluate(Slice{1, 99, 0, 0}, x).shape(), (Shape{2, 0}));
  EXPECT_EQ(infer_shape(Slice{1, 1, 1, 3}, {{kBatch, 5}}), (Shape{kBatch, 3}));
}

TEST(Slice, AcceptsExactlyTheSlicesInside) {
  for (Dim extent = 0; extent <= 4; ++extent) {
    for (std::size_t begin = 0; begin <= 5; ++begin) {
      for (std::int64_t step = -6; step <= 6; ++step) {
        for (std::size_t count = 0; count <= 6; ++count) {
          bool inside = true;
          for (std::size_t i = 0; i < count; ++i) {
            const Dim at = static_cast<Dim>(begin) + static_cast<Dim>(i) * step;
            inside = inside && at >= 0 && at < extent;
          }
          inside = inside && (count <= 1 || step != 0);
          const Slice slice{0, begin, step, count};
          if (inside) {
            EXPECT_EQ(infer_shape(slice, {{extent}}), Shape{static_cast<Dim>(count)});
          } else {
            expect_error(ErrorKind::kShape, " does not fit an extent of " + std::to_string(extent),
                         [&] { infer_shape(slice, {{extent}}); });
          }
        }
      }
    }
  }
}

TEST(Slice, RejectsHostileBoundsWithoutOverflow) {
  const std::size_t top = std::numeric_limits<std::size_t>::max();
  const std::int64_t low = std::numeric_limits<std::int64_t>::min();
  const std::int64_t high = std::numeric_limits<std::int64_t>::max();
  const Dim extent = Dim{1} << 40;
  const auto half = static_cast<std::size_t>(extent);
  for (const Slice& slice :
       {Slice{0, top, 1, 1}, Slice{0, 0, 1, top}, Slice{0, 0, low, 2}, Slice{0, 0, high, 2},
        Slice{0, 0, extent, half}, Slice{0, half - 1, -extent, half}}) {
    expect_error(ErrorKind::kShape, "does not fit an extent of",
                 [&] { infer_shape(slice, {{extent}}); });
  }
  expect_error(ErrorKind::kShape, "axis 0 of [N, 2] cannot be sliced", [] {
    infer_shape(Slice{0, 0, 1, 1}, {{kBatch, 2}});
  });
  expect_error(ErrorKind::kShape, "axis 1 of [2] cannot be sliced", [] {
    infer_shape(Slice{1, 0, 1, 1}, {{2}});
  });
}

TEST(Layout, ConcatOfSlicesAndInverseTransposeRestoreTheTensor) {
  Random random(71);
  for (int round = 0; round < 50; ++round) {
    const Shape shape{1 + static_cast<Dim>(random.below(3)), 1 + static_cast<Dim>(random.below(4)),
                      1 + static_cast<Dim>(random.below(5))};
    const Tensor x = counting(shape);
    const auto axis = static_cast<std::size_t>(random.below(3));
    const auto extent = static_cast<std::size_t>(shape[axis]);
    const auto cut = static_cast<std::size_t>(random.below(extent + 1));
    const Tensor front = evaluate(Slice{axis, 0, 1, cut}, x);
    const Tensor back = evaluate(Slice{axis, cut, 1, extent - cut}, x);
    EXPECT_EQ(elements<float>(evaluate(Concat{axis}, front, back)), elements<float>(x));
    const Tensor turned = evaluate(Transpose{{1, 2, 0}}, x);
    EXPECT_EQ(elements<float>(evaluate(Transpose{{2, 0, 1}}, turned)), elements<float>(x));
  }
}

}  // namespace
}  // namespace halftone::ir
