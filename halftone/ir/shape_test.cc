// SPDX-License-Identifier: Apache-2.0
#include "halftone/ir/shape.h"

#include <limits>
#include <utility>

#include "halftone/ir/testing.h"

namespace halftone::ir {
namespace {

using test::expect_error;
constexpr Dim kHuge = Dim{1} << 62;

TEST(Shape, CountsElements) {
  EXPECT_EQ(Shape{}.element_count(), 1u);
  EXPECT_EQ((Shape{2, 3, 4}).element_count(), 24u);
  EXPECT_EQ((Shape{2, 0, 4}).element_count(), 0u);
  EXPECT_EQ((Shape{Dim{1} << 40}).element_count(), std::size_t{1} << 40);
}

TEST(Shape, RejectsImpossibleCounts) {
  const std::vector<Shape> hostile = {
      {kHuge},        {kHuge, kHuge}, {(Dim{1} << 40) + 1},
      {0, kHuge},     {kHuge, 0},     {Dim{1} << 20, Dim{1} << 21},
      {3, -kHuge},    {0, -kHuge},    {std::numeric_limits<Dim>::min()},
      {kHuge, kBatch}};
  for (const Shape& shape : hostile) {
    expect_error(ErrorKind::kShape, "shape " + shape.to_string() + ": expected at most 2^40",
                 [&] { (void)shape.element_count(); });
  }
  expect_error(ErrorKind::kShape, "shape [N, 3]: expected known extents, found the batch", [] {
    (void)Shape({kBatch, 3}).element_count();
  });
}

TEST(Shape, BatchIsReplacedEverywhere) {
  const Shape shape{kBatch, 3, kBatch};
  EXPECT_FALSE(shape.is_static());
  EXPECT_EQ(shape.with_batch(5), (Shape{5, 3, 5}));
  EXPECT_TRUE(shape.with_batch(5).is_static());
  EXPECT_TRUE(Shape{}.is_static());
}

TEST(Shape, BatchesBeyondTheLimitAreRejected) {
  const std::size_t max_batch = std::size_t{1} << 40;
  EXPECT_EQ(Shape({kBatch}).with_batch(max_batch).element_count(), max_batch);
  expect_error(ErrorKind::kShape, "batch: expected at most 2^40 samples, found 1099511627777",
               [&] { (void)Shape({kBatch}).with_batch(max_batch + 1); });
}

TEST(Shape, TextNamesTheBatch) {
  EXPECT_EQ(Shape{}.to_string(), "[]");
  EXPECT_EQ((Shape{kBatch, 784}).to_string(), "[N, 784]");
}

TEST(MatrixExtent, IsTheFirstExtentByTheProductOfTheOthers) {
  const struct {
    Shape shape;
    std::size_t rows, cols;
  } cases[] = {{{}, 1, 1},         {{5}, 5, 1},    {{2, 3, 4}, 2, 12}, {{0, 3}, 0, 3},
               {{0, 3, 4}, 0, 12}, {{3, 0}, 3, 0}, {{0}, 0, 1},        {{0, 0, 4}, 0, 0}};
  for (const auto& [shape, rows, cols] : cases) {
    const MatrixExtent extent = matrix_extent(shape);
    EXPECT_EQ(extent.rows, rows) << shape.to_string();
    EXPECT_EQ(extent.cols, cols) << shape.to_string();
  }
  expect_error(ErrorKind::kShape, "found the batch", [] { matrix_extent({kBatch, 2}); });
}

TEST(NormalizedAxis, CountsFromBothEnds) {
  for (std::int64_t axis = 0; axis < 3; ++axis) {
    EXPECT_EQ(normalized_axis(axis, 3), static_cast<std::size_t>(axis));
    EXPECT_EQ(normalized_axis(axis - 3, 3), static_cast<std::size_t>(axis));
  }
  for (const std::int64_t axis : {std::int64_t{3}, std::int64_t{-4}, kHuge, -kHuge}) {
    expect_error(ErrorKind::kShape,
                 "axis: expected a value from -3 to 2, found " + std::to_string(axis),
                 [axis] { normalized_axis(axis, 3); });
  }
  expect_error(ErrorKind::kShape, "axis", [] { normalized_axis(0, 0); });
}

TEST(Broadcast, FollowsNumPyAndCarriesTheBatch) {
  const struct {
    Shape lhs, rhs, result;
  } cases[] = {
      {{}, {}, {}},
      {{}, {2, 3}, {2, 3}},
      {{3}, {2, 3}, {2, 3}},
      {{2, 1}, {1, 3}, {2, 3}},
      {{0}, {1}, {0}},
      {{4, 0}, {1}, {4, 0}},
      {{kBatch, 3}, {3}, {kBatch, 3}},
      {{kBatch, 3}, {1, 3}, {kBatch, 3}},
      {{kBatch, 3}, {kBatch, 1}, {kBatch, 3}},
      {{kBatch, 1}, {7}, {kBatch, 7}},
      {{kHuge, 1}, {1, kHuge}, {kHuge, kHuge}},
  };
  for (const auto& [lhs, rhs, result] : cases) {
    EXPECT_EQ(broadcast(lhs, rhs), result) << lhs.to_string() << rhs.to_string();
    EXPECT_EQ(broadcast(rhs, lhs), result) << lhs.to_string() << rhs.to_string();
  }
  for (const auto& [lhs, rhs] : std::vector<std::pair<Shape, Shape>>{
           {{2}, {3}}, {{0}, {3}}, {{kBatch}, {3}}, {{kBatch, 3}, {kBatch}}, {{2, 3}, {2}}}) {
    expect_error(ErrorKind::kShape,
                 "shapes " + lhs.to_string() + " and " + rhs.to_string() + " do not broadcast",
                 [&, &l = lhs, &r = rhs] { broadcast(l, r); });
  }
}

TEST(SameElementCount, HoldsForEveryBatch) {
  EXPECT_TRUE(same_element_count({kBatch, 28, 28}, {kBatch, 784}));
  EXPECT_TRUE(same_element_count({2, 0, 3}, {0, 9}));
  EXPECT_TRUE(same_element_count({kBatch, kBatch}, {kBatch, 1, kBatch}));
  EXPECT_FALSE(same_element_count({kBatch, 4}, {5, 4}));
  EXPECT_FALSE(same_element_count({2, 3}, {5}));
  expect_error(ErrorKind::kShape, "2^40", [] { same_element_count({kHuge}, {kHuge}); });
}

struct ReshapeCase {
  Shape input;
  std::vector<std::int64_t> request;
  bool zero_copies;
  Shape result;
};

TEST(ResolveReshape, PutsTheBatchWhereTheCountsPutIt) {
  const ReshapeCase cases[] = {
      {{kBatch, 28, 28}, {-1, 784}, false, {kBatch, 784}},
      {{kBatch, 784}, {-1, 28, 28}, false, {kBatch, 28, 28}},
      {{kBatch, 784}, {0, 28, 28}, true, {kBatch, 28, 28}},
      {{kBatch, 28, 28}, {0, -1}, true, {kBatch, 784}},
      {{kBatch, 28, 28}, {0, 784}, true, {kBatch, 784}},
      {{kBatch, 1, 4}, {4, -1}, false, {4, kBatch}},
      {{kBatch}, {-1}, false, {kBatch}},
      {{kBatch}, {1, -1, 1}, false, {1, kBatch, 1}},
      {{kBatch, kBatch, 2}, {0, -1, 2}, true, {kBatch, kBatch, 2}},
      {{1, 784}, {-1}, false, {784}},
      {{784}, {-1, 784}, false, {1, 784}},
      {{2, 3}, {2, 3, -1}, false, {2, 3, 1}},
      {{kBatch, 6}, {0, 0, -1}, true, {kBatch, 6, 1}},
      {{2, 3}, {3, 2}, false, {3, 2}},
      {{2, 3}, {0, 0}, true, {2, 3}},
      {{}, {}, false, {}},
      {{}, {-1}, false, {1}},
      {{1, 1}, {}, false, {}},
      {{0, 3}, {-1}, false, {0}},
      {{0, 3}, {-1, 3}, false, {0, 3}},
      {{4, 0}, {0, 7}, false, {0, 7}},
      {{4, 0}, {0, 0}, true, {4, 0}},
  };
  for (const auto& [input, request, zero_copies, result] : cases) {
    EXPECT_EQ(resolve_reshape(input, request, zero_copies), result) << input.to_string();
  }
}

TEST(ResolveReshape, RejectsInvalidOrAmbiguousRequests) {
  const ReshapeCase cases[] = {
      {{2, 3}, {5}, false, {}},              // other count
      {{2, 3}, {4, -1}, false, {}},          // different count
      {{2, 3}, {-1, -1}, false, {}},         // two open extents
      {{2, 3}, {2, 3, 0}, true, {}},         // nothing to copy at axis 2
      {{2, 3}, {0, 3}, false, {}},           // an extent of zero
      {{0, 3}, {-1, 0}, false, {}},          // any extent would fit
      {{0, 3}, {0, -1}, true, {}},           // likewise
      {{kBatch, 784}, {28, 28}, false, {}},  // the batch is missing
      {{kBatch, 784}, {1, 784}, false, {}},  // likewise
      {{kBatch, kBatch}, {-1}, false, {}},   // N x N is not an extent
  };
  for (const ReshapeCase& bad : cases) {
    expect_error(ErrorKind::kShape, "cannot reshape " + bad.input.to_string() + " to [",
                 [&] { resolve_reshape(bad.input, bad.request, bad.zero_copies); });
  }
  expect_error(ErrorKind::kShape, "cannot reshape [2, 3]: expected extents >= -1, found -2", [&] {
    resolve_reshape({2, 3}, std::vector<std::int64_t>{-2, 3}, false);
  });
  const std::vector<std::int64_t> hostile = {kHuge, kHuge, -1};
  expect_error(ErrorKind::kShape, "2^40", [&] { resolve_reshape({2, 3}, hostile, false); });
  expect_error(ErrorKind::kShape, "2^40", [&] {
    resolve_reshape({kHuge, kHuge}, std::vector<std::int64_t>{-1}, false);
  });
}

}  // namespace
}  // namespace halftone::ir
