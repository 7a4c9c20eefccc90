// SPDX-License-Identifier: Apache-2.0
#include "halftone/data/file_bytes.h"

#include <gtest/gtest.h>

#include <fstream>

#include "halftone/base/address_space_testing.h"
#include "halftone/base/testing.h"

namespace halftone::data {
namespace {

using FileBytesTest = WithFolder;

TEST_F(FileBytesTest, ThatDoNotFitIntoTheAddressSpaceAreALackOfMemory) {
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

}  // namespace
}  // namespace halftone::data
