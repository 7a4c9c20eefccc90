// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/byte_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>

namespace halftone {
namespace {

constexpr std::array kBytes = {std::byte{1}, std::byte{2}, std::byte{3}, std::byte{0x80}};

TEST(ByteReader, ReadsBothByteOrders) {
  EXPECT_EQ(ByteReader(kBytes).little_endian<std::uint32_t>(), 0x80030201u);
  EXPECT_EQ(ByteReader(kBytes).big_endian<std::uint32_t>(), 0x01020380u);
  EXPECT_EQ(ByteReader(kBytes).big_endian<std::uint8_t>(), 1u);
  EXPECT_LT(ByteReader(kBytes).little_endian<std::int32_t>(), 0);
  constexpr std::array one = {std::byte{0x3f}, std::byte{0x80}, std::byte{0}, std::byte{0}};
  EXPECT_EQ(ByteReader(one).big_endian<float>(), 1.0F);
}

TEST(ByteReader, AdvancesByWhatItReads) {
  ByteReader reader(kBytes);
  EXPECT_EQ(reader.take(1).front(), std::byte{1});
  EXPECT_EQ(reader.little_endian<std::uint16_t>(), 0x0302);
  EXPECT_EQ(reader.position(), 3u);
  EXPECT_EQ(reader.remaining(), 1u);
}

TEST(ByteReader, FailsInPlaceWhenTooFewBytesAreLeft) {
  ByteReader reader(kBytes);
  reader.take(3);
  try {
    reader.little_endian<std::uint16_t>();
    FAIL() << "read past the end";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kFormat);
    EXPECT_STREQ(error.what(), "truncated: expected 2 more bytes at offset 3, found 1");
  }
  EXPECT_THROW(reader.take(std::numeric_limits<std::size_t>::max()), Error);
  EXPECT_EQ(reader.take(1).front(), std::byte{0x80});
}

}  // namespace
}  // namespace halftone
