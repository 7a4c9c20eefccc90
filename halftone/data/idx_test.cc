// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/idx.h"

#include "halftone/base/gzip/gzip.h"
#include "halftone/data/dataset_testing.h"

namespace halftone::data {
namespace {

TEST(ParseIdx, ReadsPlainAndPackedAlike) {
  const std::vector<std::byte> plain = make_idx({5, 2, 3}, 30);
  for (const auto& file : {own_bytes(plain), own_bytes(gzip(plain))}) {
    const IdxArray array = parse_idx(file, 3);
    EXPECT_THAT(array.shape, testing::ElementsAre(5, 2, 3));
    ASSERT_EQ(array.data.bytes.size(), 30u);
    EXPECT_EQ(array.data.bytes[29], std::byte{29});
  }
}

TEST(ParseIdx, LimitUnpacksOnlyTheFirstItems) {
  const std::vector<std::byte> plain = make_idx({5, 2, 3}, 30);
  for (const auto& file : {own_bytes(plain), own_bytes(gzip(plain))}) {
    const IdxArray array = parse_idx(file, 3, 2);
    EXPECT_EQ(array.shape[0], 5u);
    EXPECT_EQ(array.data.bytes.size(), 12u);
    EXPECT_EQ(parse_idx(file, 3, 9).data.bytes.size(), 30u);
  }
}

TEST(ParseIdx, RefusesSizesThatDifferFromTheHeader) {
  for (const std::size_t elements : {0u, 29u, 31u, 5000u}) {
    const std::vector<std::byte> plain = make_idx({5, 2, 3}, elements);
    expect_error(ErrorKind::kFormat, "IDX: the header promises 46 bytes, found",
                 [&] { parse_idx(own_bytes(plain), 3); });
    expect_error(ErrorKind::kFormat, "IDX: the header promises 46 bytes, found",
                 [&] { parse_idx(own_bytes(gzip(plain)), 3); });
  }
}

// 4 GiB stated, a few bytes packed: detected without allocating the stated size.
TEST(ParseIdx, DoesNotAllocateTheStatedSizeOfAPackedFile) {
  const auto packed = own_bytes(gzip(make_idx({65536, 256, 256}, 10)));
  expect_error(ErrorKind::kFormat, "promises 4294967312 bytes, found 26",
               [&] { parse_idx(packed, 3); });
}

TEST(ParseIdx, RefusesAWrongHeader) {
  const std::vector<std::byte> plain = make_idx({5, 2, 3}, 30);
  expect_error(ErrorKind::kFormat,
               "expected magic number 2049 (unsigned bytes, rank 1), found 2051",
               [&] { parse_idx(own_bytes(plain), 1); });
  for (std::size_t size = 0; size < 16; ++size) {
    const SharedBytes cut{nullptr, std::span(plain).first(size)};
    expect_error(ErrorKind::kFormat, "truncated", [&] { parse_idx(cut, 3); });
  }
}

TEST(ParseIdx, RefusesExtentsThatOverflow) {
  constexpr std::uint32_t kMax = 0xffffffff;
  expect_error(ErrorKind::kFormat, "expected items of 1 byte to 16 GiB", [&] {
    parse_idx(own_bytes(make_idx({1, kMax, kMax}, 0)), 3);
  });
  expect_error(ErrorKind::kFormat, "expected items of 1 byte to 16 GiB", [&] {
    parse_idx(own_bytes(make_idx({1, 0, 5}, 0)), 3);
  });
  expect_error(ErrorKind::kFormat, "expected at most 16 GiB", [&] {
    parse_idx(own_bytes(make_idx({kMax, 28, 28}, 0)), 3);
  });
}

}  // namespace
}  // namespace halftone::data
