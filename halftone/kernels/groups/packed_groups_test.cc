// SPDX-License-Identifier: Apache-2.0
#include "halftone/kernels/groups/packed_groups.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "halftone/base/testing.h"
#include "halftone/kernels/groups/group_testing.h"

namespace halftone::kernels {
namespace {

TEST(PackedGroups, GiveTheirRowsBack) {
  for (const NamedFormat& named : group_formats()) {
    SCOPED_TRACE(named.name);
    for (const std::size_t cols : {40U, 256U, 528U}) {
      const RandomGroups w(named.format, 70, cols, 1);
      const PackedGroups packed = w.packed();
      EXPECT_EQ(packed.format().scales, w.format.scales);
      const std::size_t groups = w.extents.num_groups();
      std::vector<std::int8_t> levels(w.levels.size());
      std::vector<float> scales(w.scales.size());
      std::vector<float> offsets(w.format.has_offsets ? w.offsets.size() : 0);
      for (std::size_t row = 0; row < w.rows; ++row) {
        packed.unpack(row, std::span(levels).subspan(row * cols, cols),
                      std::span(scales).subspan(row * groups, groups),
                      offsets.empty() ? std::span<float>()
                                      : std::span(offsets).subspan(row * groups, groups));
      }
      EXPECT_EQ(levels, w.levels);
      EXPECT_EQ(scales, w.scales);
      EXPECT_EQ(offsets, w.format.has_offsets ? w.offsets : std::vector<float>());
    }
  }
}

TEST(PackedGroups, GiveRowsOfVectorsBack) {
  for (const NamedFormat& named : vector_formats()) {
    SCOPED_TRACE(named.name);
    const RandomGroups w(named.format, 70, 320, 1);
    const PackedGroups packed = w.packed();
    EXPECT_EQ(packed.format().scales, GroupScales::kE3m5);
    for (std::size_t row = 0; row < w.rows; ++row) {
      std::vector<std::int8_t> levels(320);
      std::vector<float> scales(5);
      packed.unpack(row, levels, scales, {});
      EXPECT_TRUE(std::ranges::equal(levels, std::span(w.levels).subspan(row * 320, 320)));
      EXPECT_TRUE(std::ranges::equal(scales, std::span(w.scales).subspan(row * 5, 5)));
    }
  }
}

double bits_per_weight(const std::string& name) {
  std::vector<NamedFormat> formats = group_formats();
  for (const NamedFormat& named : vector_formats()) formats.push_back(named);
  for (const NamedFormat& named : formats) {
    if (named.name != name) continue;
    const RandomGroups w(named.format, 64, 512, 2);
    return 8.0 * static_cast<double>(w.packed().size_bytes()) / (64.0 * 512);
  }
  return 0;
}

TEST(PackedGroups, TakeAboutTheBitsOfAFile) {
  EXPECT_EQ(bits_per_weight("Q1_0"), 1.125);
  EXPECT_EQ(bits_per_weight("Q2_0"), 2.25);
  EXPECT_EQ(bits_per_weight("Q4_0"), 4.5);
  EXPECT_EQ(bits_per_weight("Q8_0"), 8.5);
  EXPECT_EQ(bits_per_weight("MXFP4"), 4.25);
  EXPECT_EQ(bits_per_weight("NVFP4 of a tensor"), 4.5);
  EXPECT_EQ(bits_per_weight("Q4_K"), 4.625);   // 4.5 in a file
  EXPECT_EQ(bits_per_weight("Q6_K"), 6.5625);  // the same in a file
  for (const std::string_view rate : numerics::vector_rates()) {
    const numerics::VectorEncoding in_file(numerics::shipped_vector_basis(rate), 1);
    EXPECT_EQ(bits_per_weight(std::string(rate)), in_file.bits()) << rate;
  }
}

TEST(PackedGroups, KeepScalesThatTheirStorageWouldRound) {
  for (const GroupScales how : {GroupScales::kHalf, GroupScales::kHalfTimesByte,
                                GroupScales::kPowerOfTwo, GroupScales::kE3m5, GroupScales::kE4m3}) {
    for (const float odd : {0.1F, 1e-30F, 3e38F, 1.00001F}) {
      GroupCodes format = kFourBits;
      format.scales = how;
      RandomGroups w(format, 3, 256, 3);
      w.scales[9] = odd;
      w.scales[10] = 1.0F;
      const PackedGroups packed = w.packed();
      std::vector<std::int8_t> levels(256);
      std::vector<float> scales(8);
      packed.unpack(1, levels, scales, {});
      EXPECT_EQ(packed.format().scales, GroupScales::kFloat);
      EXPECT_EQ(scales, std::vector<float>(w.scales.begin() + 8, w.scales.begin() + 16));
    }
  }
}

/// A float16 that is negative, times -128: as a positive one times 128 it would not fit.
TEST(PackedGroups, FactorScalesOfEitherSign) {
  for (const float half : {0.37109375F, -0.37109375F, 65504.0F, 0x1p-24F}) {
    GroupCodes format = kFourBits;
    format.scales = GroupScales::kHalfTimesByte;
    RandomGroups w(format, 1, 256, 4);
    w.scales = {-128 * half, 127 * half, 0, half, -half, 64 * half, 32 * half, -1 * half};
    EXPECT_EQ(w.packed().format().scales, GroupScales::kHalfTimesByte) << half;
    w.scales = {4 * half, 8 * half, 0, -12 * half, 4 * half, 64 * half, 32 * half, -4 * half};
    EXPECT_EQ(w.packed().format().scales, GroupScales::kHalfTimesByte) << half;
  }
}

TEST(PackedGroups, RefuseWhatTheyCannotHold) {
  const auto packing = [](const GroupCodes& format) {
    return [format] {
      return PackedGroups::pack(1, 32, format, [](auto, auto codes, auto scales, auto) {
        std::ranges::fill(codes, std::int8_t{9});
        std::ranges::fill(scales, 1.0F);
      });
    };
  };
  expect_error(ErrorKind::kFormat, "row 0, input 0: expected a level of a code of 4 bits, found 9",
               packing({{4, -8}, 32}));
  expect_error(ErrorKind::kUnsupported, "found 7 bits and groups of 32", packing({{7}, 32}));
  expect_error(ErrorKind::kUnsupported, "found 4 bits and groups of 48", packing({{4}, 48}));
  expect_error(ErrorKind::kUnsupported, "found 8 bits from level 0", packing({{8}, 32}));
  GroupCodes table{{2}, 32};
  table.levels.table.emplace();
  expect_error(ErrorKind::kUnsupported, "in a table only for 4 bits", packing(table));
}

TEST(PackedGroups, RefuseVectorsThatTheyCannotHold) {
  const auto packing = [](const GroupCodes& format, std::size_t cols) {
    return [=] {
      return PackedGroups::pack(1, cols, format, [](auto, auto codes, auto, auto) {
        std::ranges::fill(codes, std::int8_t{1});
      });
    };
  };
  GroupCodes format = vector_formats().front().format;
  expect_error(ErrorKind::kFormat, "row 0, input 0: expected a codeword of a basis 4x8",
               packing(format, 64));
  expect_error(ErrorKind::kShape, "expected inputs in whole groups of 64, found 96",
               packing(format, 96));
  format.group = 32;
  expect_error(ErrorKind::kUnsupported, "expected groups of 64 inputs without offsets, found",
               packing(format, 64));
}

TEST(PackedGroups, PackStripsInAnyOrder) {
  const RandomGroups w(group_formats().front().format, 150, 256, 5);
  PackedGroups parts(150, 256, w.format);
  ASSERT_TRUE(parts.pack_strips({1, 3}, w.unpacker()));
  ASSERT_TRUE(parts.pack_strips({0, 1}, w.unpacker()));
  const PackedGroups all = w.packed();
  ASSERT_EQ(parts.size_bytes(), all.size_bytes());
  EXPECT_TRUE(std::equal(all.strip(0), all.strip(0) + all.size_bytes(), parts.strip(0)));
  RandomGroups odd(kFourBits, 70, 256, 6);
  odd.scales.back() = 0.1F;
  PackedGroups rounded(70, 256, kFourBits);
  EXPECT_TRUE(rounded.pack_strips({0, 1}, odd.unpacker()));
  EXPECT_FALSE(rounded.pack_strips({1, 2}, odd.unpacker()));
}

TEST(PackedGroups, MayBeEmpty) {
  const auto none = [](auto...) {};
  EXPECT_EQ(PackedGroups::pack(0, 64, kFourBits, none).size_bytes(), 0U);
  EXPECT_EQ(PackedGroups::pack(0, 64, kFourBits, none).num_strips(), 0U);
}

}  // namespace
}  // namespace halftone::kernels
