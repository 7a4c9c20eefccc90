// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/file_bytes.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <fstream>

#include "halftone/base/testing.h"

namespace halftone::data {
namespace {

using FileBytesTest = WithFolder;

TEST_F(FileBytesTest, ThatDoNotFitIntoTheAddressSpaceAreALackOfMemory) {
  std::ofstream(path("x.npy")).put('x');
  std::filesystem::resize_file(path("x.npy"), std::uintmax_t{1} << 30);
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  std::uint64_t pages = 0;
  std::ifstream("/proc/self/statm") >> pages;
  rlimit less = before;
  less.rlim_cur =
      pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE)) + (std::uint64_t{512} << 20);
  ASSERT_EQ(setrlimit(RLIMIT_AS, &less), 0);
  rlimit kept{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &kept), 0);
  if (kept.rlim_cur != less.rlim_cur) GTEST_SKIP() << "an emulator that keeps no such limit";
  expect_error(ErrorKind::kMemory,
               path("x.npy") + ": 1073741824 bytes of address space are not available",
               [&] { map_file(path("x.npy")); });
  ASSERT_EQ(setrlimit(RLIMIT_AS, &before), 0);
  EXPECT_EQ(map_file(path("x.npy")).bytes.size(), std::size_t{1} << 30);
}

}  // namespace
}  // namespace halftone::data
