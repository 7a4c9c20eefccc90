// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/base64.h"

#include <gtest/gtest.h>

namespace halftone {
namespace {

// Section 10 of RFC 4648.
TEST(Base64, HasTheVectorsOfTheStandard) {
  EXPECT_EQ(to_base64(""), "");
  EXPECT_EQ(to_base64("f"), "Zg==");
  EXPECT_EQ(to_base64("fo"), "Zm8=");
  EXPECT_EQ(to_base64("foo"), "Zm9v");
  EXPECT_EQ(to_base64("foobar"), "Zm9vYmFy");
  EXPECT_EQ(to_base64("\xff\xfe"), "//4=");
}

TEST(Base64, IsReadAgain) {
  for (const std::string text : {"", "f", "fo", "foo", "foobar", "\xff\xfe"}) {
    EXPECT_EQ(from_base64(to_base64(text)), text);
  }
  EXPECT_EQ(from_base64("Zg"), "f") << "without padding";
  EXPECT_EQ(from_base64("Z!"), std::nullopt);
}

}  // namespace
}  // namespace halftone
