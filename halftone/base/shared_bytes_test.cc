// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/shared_bytes.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>

#include "halftone/base/memory_testing.h"
#include "halftone/base/testing.h"

namespace halftone {
namespace {

using SharedBytesTest = WithFolder;

TEST_F(SharedBytesTest, ThatDoNotFitIntoTheAddressSpaceAreALackOfMemory) {
  std::ofstream(path("x.npy")).put('x');
  std::filesystem::resize_file(path("x.npy"), std::uintmax_t{1} << 30);
  {
    const AddressSpaceLimit limit(std::uint64_t{512} << 20);
    if (!limit.holds()) GTEST_SKIP() << "an emulator that keeps no such limit";
    expect_error(ErrorKind::kMemory,
                 path("x.npy") + ": 1073741824 bytes of address space are not available",
                 [&] { map_file(path("x.npy")); });
  }
  EXPECT_EQ(map_file(path("x.npy")).bytes.size(), std::size_t{1} << 30);
}

TEST_F(SharedBytesTest, MayBeReadBehindAMappedFile) {
  // Sizes at and around the end of a page.
  for (const std::size_t size : {1U, 4095U, 4096U, 4097U}) {
    std::ofstream(path("a.bin")) << std::string(size, 'a');
    const SharedBytes file = map_file(path("a.bin"));
    ASSERT_GE(file.readable_behind, 64U);
    EXPECT_EQ(file.bytes.back(), std::byte{'a'});
    for (std::size_t i = 0; i < file.readable_behind; ++i) {
      ASSERT_EQ(file.bytes.data()[size + i], std::byte{0});
    }
  }
}

TEST_F(SharedBytesTest, PartsKeepTheOwnerAlive) {
  SharedBytes whole = own_bytes({std::byte{1}, std::byte{2}, std::byte{3}});
  const SharedBytes part = whole.part(1, 1);
  whole = {};
  EXPECT_EQ(part.bytes[0], std::byte{2});
  EXPECT_EQ(part.readable_behind, 1U);
}

/// Pages in memory that this process shares with others, as those of mapped files. 0: not known.
std::size_t shared_pages() {
  std::ifstream statm("/proc/self/statm");
  std::size_t size = 0;
  std::size_t resident = 0;
  std::size_t shared = 0;
  statm >> size >> resident >> shared;
  return shared;
}

TEST_F(SharedBytesTest, GiveTheMemoryOfAMappedFileBack) {
  constexpr std::size_t kBytes = std::size_t{64} << 20;
  std::ofstream(path("a.bin")) << std::string(kBytes, 'a');
  const SharedBytes file = map_file(path("a.bin"));
  const SharedBytes part = file.part(1, kBytes - 2);
  const auto count = [&] { return std::ranges::count(part.bytes, std::byte{'a'}); };
  EXPECT_EQ(count(), kBytes - 2);
  const std::size_t before = shared_pages();
  part.release_pages();
  const std::size_t after = shared_pages();
  EXPECT_EQ(count(), kBytes - 2);
  if (before == 0) GTEST_SKIP() << "this system does not say how many pages there are";
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  EXPECT_LE(after + kBytes / page / 2, before);
}

TEST_F(SharedBytesTest, KeepBytesThatAreNoFile) {
  const SharedBytes bytes = own_bytes(std::vector(std::size_t{1} << 20, std::byte{5}));
  bytes.release_pages();
  EXPECT_EQ(std::ranges::count(bytes.bytes, std::byte{5}), std::ptrdiff_t{1} << 20);
}

}  // namespace
}  // namespace halftone
