// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/tree.hpp"

#include <string>
#include <tuple>
#include <vector>

#include "halftone/base/testing.h"
#include "halftone/spmd/leaves.h"
#include "halftone/spmd/testing.h"

namespace halftone::spmd {
namespace {

using testing::ElementsAre;

struct Foreign {
  std::vector<AffineMap> lines;
  int not_a_leaf = 5;
};

}  // namespace

template <>
struct TreeMembers<Foreign> {
  static auto members(auto& self) { return std::tie(self.lines); }
};

namespace {

static_assert(Tree<Array> && Tree<AffineMap> && Tree<Foreign> && Tree<std::vector<AffineMap>>);
static_assert(Tree<std::tuple<Array, std::pair<AffineMap, std::array<Array, 2>>>>);
static_assert(!Tree<int> && !Tree<std::string> && !Tree<std::vector<int>>);
static_assert(!Tree<std::tuple<Array, int>>);

TEST(Tree, FlattensInOrderAndBuildsAgain) {
  const std::tuple<Foreign, std::array<Array, 2>> tree{
      Foreign{{AffineMap{Array::scalar(1.F), Array::scalar(2.F)},
               AffineMap{Array::scalar(3.F), Array::scalar(4.F)}}},
      {Array::scalar(5.F), Array::of({6.F})}};
  const Flat flat = flatten(tree);
  std::vector<float> values;
  for (const Array& leaf : flat.leaves) values.push_back(leaf.item<float>());
  EXPECT_THAT(values, ElementsAre(1, 2, 3, 4, 5, 6));
  EXPECT_THAT(flat.lengths, ElementsAre(2));

  const auto again = unflatten<std::tuple<Foreign, std::array<Array, 2>>>(flat);
  ASSERT_EQ(std::get<0>(again).lines.size(), 2u);
  EXPECT_EQ(std::get<0>(again).lines[1].offset.item<float>(), 4);
  EXPECT_EQ(std::get<1>(again)[1].bytes().data(), std::get<1>(tree)[1].bytes().data());
}

TEST(Tree, SplitsIntoLanesAndStacksThem) {
  const AffineMap line{Array::range<float>({3, 2}), Array::range<std::int32_t>({3})};
  const Flat flat = flatten(line);
  EXPECT_EQ(mapped_extent(flat, 0, "it"), 3u);
  std::vector<Flat> lanes;
  for (std::size_t i = 0; i < 3; ++i) lanes.push_back(lane_of(flat, 0, i));
  EXPECT_EQ(lanes[1].types(), "float32[2], int32[]");
  const AffineMap again = unflatten<AffineMap>(stack_lanes(lanes, 0));
  EXPECT_TRUE(std::ranges::equal(again.slope.bytes(), line.slope.bytes()));
  EXPECT_TRUE(std::ranges::equal(again.offset.bytes(), line.offset.bytes()));
}

TEST(Tree, NamesWhatCannotBeMapped) {
  const auto extent = [](const auto& tree, std::size_t axis) {
    return [flat = flatten(tree), axis] { mapped_extent(flat, axis, "argument 0"); };
  };
  expect_error(ErrorKind::kShape, "argument 0: float32[] has no axis 0",
               extent(Array::scalar(1.F), 0));
  expect_error(ErrorKind::kShape,
               "argument 0: expected equal extents along axis 0, found float32[2], float32[3]",
               extent(std::pair(Array::range<float>({2}), Array::range<float>({3})), 0));
  expect_error(ErrorKind::kShape, "argument 0: expected at least one array",
               extent(std::vector<Array>{}, 0));
}

TEST(Tree, NamesLanesThatAreNotAlike) {
  const std::vector<Flat> lanes{flatten(Array::scalar(1.F)), flatten(Array::scalar(1.F)),
                                flatten(Array::scalar(1.0))};
  expect_error(ErrorKind::kShape, "results differ: lane 4 returned float32[], lane 6 float64[]",
               [&] { internal::check_alike(lanes, 4); });
  expect_error(ErrorKind::kShape, "stack: expected at least one lane, found none",
               [] { stack_lanes({}, 0); });
  const std::vector<Flat> lengths{flatten(std::vector<Array>{}),
                                  flatten(std::vector{Array::scalar(1.F)})};
  expect_error(ErrorKind::kShape, "lane 0 returned nothing, lane 1 float32[]",
               [&] { stack_lanes(lengths, 0); });
}

}  // namespace
}  // namespace halftone::spmd
