// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/shared_bytes.h"

#include <gtest/gtest.h>

#include <fstream>

#include "halftone/base/address_space_testing.h"
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

}  // namespace
}  // namespace halftone
