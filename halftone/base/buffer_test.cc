// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <span>

#include "halftone/base/memory.h"
#include "halftone/base/testing.h"

namespace halftone {
namespace {

TEST(AlignedBuffer, IsAlignedZeroedAndReadablePastItsEnd) {
  for (const std::size_t size : {std::size_t{0}, std::size_t{1}, std::size_t{63}, std::size_t{64},
                                 std::size_t{65}, std::size_t{1000}, std::size_t{5} << 20}) {
    const AlignedBuffer buffer(size);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % AlignedBuffer::kAlignment, 0u);
    EXPECT_EQ(buffer.bytes().size(), size);
    // The address sanitizer watches these reads of the padding.
    const std::span all(buffer.data(), size + AlignedBuffer::kAlignment);
    EXPECT_TRUE(std::ranges::all_of(all, [](std::byte b) { return b == std::byte{0}; })) << size;
  }
}

TEST(AlignedBuffer, RoundsSizesUpToWhatItIsAlignedTo) {
  static_assert(AlignedBuffer::kAlignment == 64);
  EXPECT_EQ(AlignedBuffer::rounded_up(0), 0u);
  EXPECT_EQ(AlignedBuffer::rounded_up(1), 64u);
  EXPECT_EQ(AlignedBuffer::rounded_up(64), 64u);
  EXPECT_EQ(AlignedBuffer::rounded_up(65), 128u);
}

TEST(AlignedBuffer, ElementsLeaveOutARemainder) {
  AlignedBuffer buffer(11);
  EXPECT_EQ(buffer.as<float>().size(), 2u);
  buffer.as<std::uint16_t>()[4] = 0x0201;
  EXPECT_NE(buffer.bytes()[8], std::byte{0});
}

TEST(AlignedBuffer, DefaultIsEmpty) {
  const AlignedBuffer buffer;
  EXPECT_TRUE(buffer.bytes().empty());
  EXPECT_TRUE(buffer.as<float>().empty());
}

TEST(AlignedBuffer, MovedFromIsEmpty) {
  AlignedBuffer source(8);
  AlignedBuffer target = std::move(source);
  EXPECT_EQ(target.size_bytes(), 8u);
  EXPECT_TRUE(source.bytes().empty());  // NOLINT(bugprone-use-after-move): that is the claim
  source = std::move(target);
  EXPECT_EQ(source.size_bytes(), 8u);
}

TEST(AlignedBuffer, RefusesWhatMemoryCannotHold) {
  constexpr std::size_t kMax = std::numeric_limits<std::size_t>::max();
  for (const std::size_t size : {kMax, kMax / 2}) {
    expect_error(ErrorKind::kMemory, std::to_string(size) + " bytes is too large",
                 [&] { AlignedBuffer{size}; });
  }
}

TEST(AlignedBuffer, RefusesMoreThanIsAvailableBeforeTakingIt) {
  if (!available_memory()) GTEST_SKIP() << "this system does not tell what is available";
  expect_error(ErrorKind::kMemory, "a buffer: 4611686018427387968 bytes of memory are needed",
               [] { AlignedBuffer(std::size_t{1} << 62); });
}

}  // namespace
}  // namespace halftone
