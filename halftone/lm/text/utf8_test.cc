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

TEST(Utf8, KnowsBytesThatBeginACharacter) {
  for (const char* text : {"\xC3", "\xE2\x96", "\xE0", "\xE0\xA0", "\xED\x9F", "\xF0",
                           "\xF0\x90\x80", "\xF4\x8F\xBF"}) {
    EXPECT_EQ(utf8_begun_length(text), std::string_view(text).size())
        << testing::PrintToString(text);
  }
  for (const char* text : {"", "\x80", "\xC0", "\xFF", "\xF5\x80"}) {
    EXPECT_EQ(utf8_begun_length(text), 0U) << testing::PrintToString(text);
  }
  EXPECT_EQ(utf8_begun_length("\xE2\x96"
                              "a"),
            2U);
  EXPECT_EQ(utf8_begun_length("\xE0\x80\x80"), 1U) << "longer than needed";
  EXPECT_EQ(utf8_begun_length("\xED\xA0\x80"), 1U) << "a surrogate";
  EXPECT_EQ(utf8_begun_length("\xF4\x90\x80\x80"), 1U) << "above U+10FFFF";
}

}  // namespace
}  // namespace halftone::lm
