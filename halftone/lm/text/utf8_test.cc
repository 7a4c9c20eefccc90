// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/utf8.h"

#include "halftone/base/testing.h"

namespace halftone::lm {
namespace {

TEST(Utf8, KnowsEveryCodePoint) {
  for (char32_t c = 0; c <= 0x10FFFF; ++c) {
    const std::string text = to_utf8(c);
    const bool is_surrogate = c >= 0xD800 && c < 0xE000;
    ASSERT_EQ(utf8_length(text), is_surrogate ? 0 : text.size()) << std::hex << std::uint32_t{c};
    ASSERT_EQ(utf8_code_point(text), c);
  }
}

TEST(Utf8, RefusesOtherBytes) {
  // Alone, cut short, longer than needed, beyond U+10FFFF.
  for (const char* text : {"\x80", "\xC3", "\xE2\x96", "\xC0\x80", "\xE0\x80\x80",
                           "\xF4\x90\x80\x80", "\xF8\x88\x80\x80\x80", "\xFF"}) {
    EXPECT_EQ(utf8_length(text), 0U);
  }
  EXPECT_EQ(utf8_length(""), 0U);
  check_utf8("ab\xC3\xA4");
  expect_error(ErrorKind::kFormat, "text: expected UTF-8, found byte 0xff at offset 3",
               [] { check_utf8("ab!\xFF"); });
}

}  // namespace
}  // namespace halftone::lm
