// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/mapping.h"

#include "halftone/accel/mapping/testing.h"
#include "halftone/base/testing.h"

namespace halftone::accel::mapping {
namespace {

/// A product of 4 x 6 x 8 on a memory, a buffer over two by three MACs, and a valid mapping.
struct MappedProduct {
  Problem problem = matrix_product(4, 6, 8);
  Hierarchy hierarchy;
  Mapping mapping;

  MappedProduct() {
    Level memory = keeping("memory", {true, true, true});
    Level buffer = keeping("buffer", {true, true, false});
    buffer.capacity_bits = 8 * (2 * 4 + 4 * 6);
    buffer.fan_out = {{2, {0}}, {3, {}}};
    hierarchy.levels = {memory, buffer};
    mapping.levels = {{{{2, 2}, {0, 2}}, {}, {true, true, true}},
                      {{{2, 4}, {1, 2}}, {{0, 2, 0}, {1, 3, 1}}, {true, true, false}}};
  }
  void expect(ErrorKind kind, const std::string& text) const {
    expect_error(kind, text, [&] { check(problem, hierarchy, mapping); });
  }
};

TEST(Mapping, TilesAreWhatTheLoopsInsideUse) {
  const MappedProduct valid;
  check(valid.problem, valid.hierarchy, valid.mapping);
  const Extents inside = extents_within(valid.mapping, 1);
  EXPECT_EQ(inside[0], 2U);
  EXPECT_EQ(inside[1], 6U);
  EXPECT_EQ(inside[2], 4U);
  EXPECT_EQ(valid.hierarchy.num_macs(), 6U);
  EXPECT_EQ(tile_bits(valid.problem, valid.hierarchy.levels[1], valid.mapping.levels[1], inside),
            8U * (2 * 4 + 4 * 6));
}

TEST(Mapping, PaddingMakesUnevenExtentsDivisible) {
  const MappedProduct valid;
  Extents extents = extents_of(valid.problem);
  extents[1] = 7;
  EXPECT_EQ(pad(valid.problem, extents).macs(), 4U * 7 * 8);
  extents[1] = 5;
  expect_error(ErrorKind::kShape, "pad: dimension N has extent 6, which is more than 5",
               [&] { static_cast<void>(pad(valid.problem, extents)); });
}

TEST(Mapping, BoundsMustMultiplyToTheExtents) {
  MappedProduct wrong;
  wrong.mapping.levels[0].temporal[0].bound = 3;
  wrong.expect(ErrorKind::kShape,
               "mapping: the bounds of dimension K multiply to 12, its extent is 8");
  wrong.mapping.levels[0].temporal[0].bound = 0;
  wrong.expect(ErrorKind::kUsage, "level memory: the loop over K has bound 0");
  wrong.mapping.levels[0].temporal[0].dimension = 3;
  wrong.expect(ErrorKind::kUsage, "level memory: a loop names dimension 3");
}

TEST(Mapping, TilesMustFitWithTheirCopies) {
  MappedProduct wrong;
  wrong.hierarchy.levels[1].copies = 2;
  wrong.expect(ErrorKind::kShape, "level buffer: its tiles need 512 bits, it has 256");
  // Two copies of 8 words of 8 bits and 24 of 2 bits are 224 bits.
  wrong.hierarchy.levels[1].word_bits = {8, 2, 8};
  check(wrong.problem, wrong.hierarchy, wrong.mapping);
}

TEST(Mapping, InstancesMustBeThere) {
  MappedProduct wrong;
  wrong.mapping.levels[1].spatial = {{0, 2, 0}, {1, 2, 1}, {2, 2, 1}};
  wrong.expect(ErrorKind::kShape, "level buffer: axis 1 has 3 instances, the loops use 4");
  wrong.mapping.levels[1].spatial = {{1, 2, 0}};
  wrong.expect(ErrorKind::kUsage, "level buffer: axis 0 does not take dimension N");
  wrong.mapping.levels[1].spatial = {{1, 2, 2}};
  wrong.expect(ErrorKind::kUsage, "level buffer: a loop names axis 2 of a fan-out with 2 axes");
}

TEST(Mapping, LevelsKeepWhatTheyCan) {
  MappedProduct wrong;
  wrong.mapping.levels[1].keeps[2] = true;
  wrong.expect(ErrorKind::kUsage, "level buffer cannot keep Outputs");
  wrong.mapping.levels[1].keeps = {true};
  wrong.expect(ErrorKind::kUsage, "level buffer: the mapping has 1 entries in keeps");
  wrong.mapping.levels[1].keeps = {false, false, false};
  wrong.mapping.levels[0].keeps[0] = false;
  wrong.expect(ErrorKind::kUsage, "mapping: the outermost level must keep every data space");
  wrong.mapping.levels.pop_back();
  wrong.expect(ErrorKind::kUsage, "mapping: expected 2 levels, found 1");
}

TEST(Hierarchy, ErrorsNameTheLevel) {
  const auto expect = [](const std::string& text, auto&& change) {
    MappedProduct wrong;
    change(wrong.hierarchy.levels);
    wrong.expect(ErrorKind::kUsage, text);
  };
  using Levels = std::vector<Level>;
  expect("hierarchy: expected a level, found none", [](Levels& levels) { levels.clear(); });
  expect("level buffer: expected 3 entries in keeps, found 1",
         [](Levels& levels) { levels[1].keeps = {true}; });
  expect("level buffer: expected 3 entries in word_bits, found 1",
         [](Levels& levels) { levels[1].word_bits = {8}; });
  expect("level buffer: access_bits, copies and word_bits must be positive",
         [](Levels& levels) { levels[1].access_bits = 0; });
  MappedProduct wide;
  wide.hierarchy.levels[0].word_bits = {8, 8, std::uint64_t{1} << 55U};
  wide.expect(
      ErrorKind::kShape,
      "level memory: words of Outputs are too wide: bits times MACs must be less than 2^62");
  expect("level buffer: a fan-out has 0 instances",
         [](Levels& levels) { levels[1].fan_out[0].instances = 0; });
  expect("level buffer: a fan-out names dimension 3",
         [](Levels& levels) { levels[1].fan_out[0].dimensions = {3}; });
  expect("level memory is the outermost and must keep every data space",
         [](Levels& levels) { levels[0].keeps[1] = false; });
}

}  // namespace
}  // namespace halftone::accel::mapping
