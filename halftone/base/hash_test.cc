// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/hash.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

std::uint64_t hash_of(std::string_view text) {
  Hash hash;
  hash.add(text);
  return hash.value();
}

// Test vectors of draft-eastlake-fnv, appendix C.
TEST(Hash, IsFnv1aOf64Bits) {
  EXPECT_EQ(hash_of(""), 0xcbf29ce484222325U);
  EXPECT_EQ(hash_of("a"), 0xaf63dc4c8601ec8cU);
  EXPECT_EQ(hash_of("foobar"), 0x85944171f73967e8U);
}

TEST(Hash, PiecesCountAsTheWhole) {
  Hash hash;
  hash.add("foo");
  hash.add("");
  hash.add("bar");
  EXPECT_EQ(hash.value(), hash_of("foobar"));
}

}  // namespace
}  // namespace halftone
