// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/paged_buffer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "halftone/base/random.h"

namespace halftone {
namespace {

constexpr std::size_t kPage = 4096;  // of most systems; others have multiples

bool has_pages() { return PagedBuffer(kPage).memory_bytes() == 0; }

TEST(PagedBuffer, IsWhatOrdinaryMemoryWouldBe) {
  Random random(3);
  constexpr std::size_t kParts = 6;
  constexpr std::size_t kPart = 5 * kPage;
  for (const bool shares : {true, false}) {
    PagedBuffer buffer(kParts * kPart, shares);
    std::vector<std::byte> plain(kParts * kPart);
    for (int step = 0; step < 2000; ++step) {
      const std::size_t to = random.next() % kParts * kPart;
      const std::size_t from = random.next() % kParts * kPart;
      const std::size_t begin = random.next() % 9000;
      const std::size_t count = 1 + random.next() % 9000;
      const auto at = [&](std::size_t i) { return plain.begin() + static_cast<std::ptrdiff_t>(i); };
      if (step % 2 == 0 && to != from) {
        const std::size_t odd = step % 8 == 0 ? 1 : 0;  // not at the same place of a page
        buffer.copy(from + begin, to + begin + odd, count);
        std::copy_n(at(from + begin), count, at(to + begin + odd));
      } else {
        const auto value = static_cast<std::byte>(random.next());
        buffer.prepare_write(to + begin, count);
        std::fill_n(buffer.bytes().begin() + static_cast<std::ptrdiff_t>(to + begin), count, value);
        std::fill_n(at(to + begin), count, value);
      }
      ASSERT_TRUE(std::ranges::equal(buffer.bytes(), plain)) << step;
    }
    EXPECT_TRUE((shares && has_pages()) || buffer.shared_bytes() == 0);
    PagedBuffer moved = std::move(buffer);
    EXPECT_TRUE(std::ranges::equal(moved.bytes(), plain));
    moved.clear();
    EXPECT_EQ(moved.shared_bytes(), 0U);
    EXPECT_TRUE(std::ranges::all_of(moved.bytes(), [](std::byte b) { return b == std::byte{0}; }));
  }
}

TEST(PagedBuffer, HasACommonFrontOnce) {
  if (!has_pages()) GTEST_SKIP() << "copies take memory here";
  constexpr std::size_t kPart = 256 * 4096;
  PagedBuffer buffer(8 * kPart);
  EXPECT_EQ(buffer.memory_bytes(), 0U) << "nothing was touched";
  std::ranges::fill(buffer.bytes().first(kPart), std::byte{7});
  EXPECT_EQ(buffer.memory_bytes(), kPart);
  for (std::size_t i = 1; i < 8; ++i) buffer.copy(0, i * kPart, kPart);
  EXPECT_EQ(buffer.memory_bytes(), kPart);
  EXPECT_EQ(buffer.shared_bytes(), 7 * kPart);
  buffer.prepare_write(kPart, 1);
  EXPECT_EQ(buffer.shared_bytes(), 7 * kPart - buffer.memory_bytes() + kPart)
      << "one page was copied";
  EXPECT_LT(buffer.memory_bytes(), 2 * kPart);
  buffer.copy(2 * kPart, kPart, kPart);
  EXPECT_EQ(buffer.memory_bytes(), kPart) << "a page that nobody has takes none";
  buffer.clear();
  EXPECT_EQ(buffer.memory_bytes(), 0U);
}

}  // namespace
}  // namespace halftone
