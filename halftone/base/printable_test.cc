// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/printable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace halftone {
namespace {

TEST(Printable, KeepsValidText) {
  for (const char* text :
       {"", "conv1: [N, 3]", "two\nlines", "\xC3\xA9t\xC3\xA9", "\xC2\xA0", "\xE0\xA0\x80",
        "\xED\x9F\xBF", "\xEF\xBF\xBD", "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_EQ(printable(text), text);
  }
}

TEST(Printable, EscapesControlCharacters) {
  EXPECT_EQ(printable("\x1B[31mred"), "\\x1B[31mred");
  EXPECT_EQ(printable(std::string_view("a\0b\x7F\r", 5)), "a\\x00b\\x7F\\x0D");
  EXPECT_EQ(printable("\xC2\x9B"), "\\xC2\\x9B");  // CSI, which a terminal may interpret
}

TEST(Printable, EscapesWhatTurnsTheDirectionOfText) {
  EXPECT_EQ(printable("a\u202Eb\u2066c"), "a\\xE2\\x80\\xAEb\\xE2\\x81\\xA6c");
  for (const char* hidden : {"\u061C", "\u200E", "\u200F", "\u2028", "\u202A", "\u2069",
                             "\xEF\xBF\xBE", "\xEF\xBF\xBF"}) {
    EXPECT_EQ(printable(hidden).substr(0, 2), "\\x") << hidden;
  }
  EXPECT_EQ(printable("\u2027\u202F\u2065\u206A\u200D"), "\u2027\u202F\u2065\u206A\u200D");
}

TEST(PrintableLine, EscapesLineFeedsToo) {
  EXPECT_EQ(printable_line("two\nlines\n"), "two\\x0Alines\\x0A");
  EXPECT_EQ(printable_line("\x1B\xC3\xA9"), "\\x1B\xC3\xA9");
}

TEST(Printable, EscapesWhatIsNotUtf8) {
  EXPECT_EQ(printable("caf\xE9"), "caf\\xE9");
  EXPECT_EQ(printable("\x80"), "\\x80");
  EXPECT_EQ(printable("\xC0\xAF"), "\\xC0\\xAF");           // overlong
  EXPECT_EQ(printable("\xE0\x9F\xBF"), "\\xE0\\x9F\\xBF");  // overlong
  EXPECT_EQ(printable("\xED\xA0\x80"), "\\xED\\xA0\\x80");  // surrogate
  EXPECT_EQ(printable("\xF4\x90\x80\x80"), "\\xF4\\x90\\x80\\x80");
  EXPECT_EQ(printable("\xF0\x8F\xBF\xBF"), "\\xF0\\x8F\\xBF\\xBF");
  EXPECT_EQ(printable("\xF5\x80\x80\x80"), "\\xF5\\x80\\x80\\x80");
  EXPECT_EQ(printable("\xE2\x82"), "\\xE2\\x82");  // cut short
  EXPECT_EQ(printable("\xE2\x82z"), "\\xE2\\x82z");
}

TEST(Shortened, KeepsBeginningAndEndWithinTheLimit) {
  EXPECT_EQ(shortened(std::string(100, 'a'), 100), std::string(100, 'a'));
  const std::string text = "begin" + std::string(1 << 20, 'x') + "end";
  const std::string found = shortened(text, 200);
  EXPECT_LE(found.size(), 200u);
  EXPECT_THAT(found, testing::StartsWith("beginx"));
  EXPECT_THAT(found, testing::EndsWith("xend"));
  EXPECT_THAT(found, testing::HasSubstr(" bytes omitted) ... "));
}

TEST(NumberText, HasOneNameForNaN) {
  EXPECT_EQ(number_text(-0.5), "-0.500000");
  EXPECT_EQ(number_text(-std::numeric_limits<double>::infinity()), "-inf");
  const double nan = std::numeric_limits<double>::quiet_NaN();
  for (const double x : {nan, -nan}) EXPECT_EQ(number_text(x), "NaN");
}

TEST(Shortened, CutsNoUtf8Sequence) {
  std::string text;
  for (int i = 0; i < 200; ++i) text += "\xE2\x82\xAC";
  for (std::size_t limit = 100; limit < 110; ++limit) {
    const std::string found = shortened(text, limit);
    EXPECT_LE(found.size(), limit);
    EXPECT_EQ(printable(found), found);
  }
}

}  // namespace
}  // namespace halftone
