// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/embedded_text.h"

#include <gtest/gtest.h>

#include <array>

namespace halftone {
namespace {

TEST(EmbeddedText, IsFoundByItsName) {
  constexpr std::array kTexts = {EmbeddedText{"a", "first"}, EmbeddedText{"b", "second"}};
  ASSERT_NE(find_text(kTexts, "b"), nullptr);
  EXPECT_EQ(find_text(kTexts, "b")->text, "second");
  EXPECT_EQ(find_text(kTexts, "c"), nullptr);
  EXPECT_EQ(names_of(kTexts), "a, b");
  EXPECT_EQ(names_of({}), "");
}

}  // namespace
}  // namespace halftone
