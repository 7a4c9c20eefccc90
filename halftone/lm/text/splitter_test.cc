// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/splitter.h"

#include "halftone/base/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

TEST(Splitters, HaveTheRulesOfModels) {
  EXPECT_THAT(Splitter(split_rule("gpt-2").patterns).split("It's  1234 \xC3\xA4pfel!!\n\n x"),
              ElementsAre("It", "'s", " ", " 1234", " \xC3\xA4pfel", "!!", "\n\n", " x"));
  EXPECT_THAT(Splitter(split_rule("llama-bpe").patterns).split("IT'S 12345 a!\n\nb"),
              ElementsAre("IT", "'S", " ", "123", "45", " a", "!\n\n", "b"));
  EXPECT_THAT(Splitter(split_rule("qwen2").patterns).split("a 123"),
              ElementsAre("a", " ", "1", "2", "3"));
  EXPECT_THAT(Splitter(split_rule("smollm").patterns).split("a 12 b"),
              ElementsAre("a", " ", "1", "2", " b"));
}

TEST(Splitters, TakeWhiteSpaceOfUnicode) {
  // U+00A0 and U+3000 are white space, U+180E is not.
  EXPECT_THAT(Splitter({R"(\s+)"}).split("a\xC2\xA0\xE3\x80\x80x\xE1\xA0\x8Ey"),
              ElementsAre("a", "\xC2\xA0\xE3\x80\x80", "x\xE1\xA0\x8Ey"));
  EXPECT_THAT(Splitter({R"([^\sx]+)"}).split("ab xc"), ElementsAre("ab", " x", "c"));
  EXPECT_THAT(Splitter({R"(\S)"}).split(" a "), ElementsAre(" ", "a", " "));
  EXPECT_TRUE(Splitter(split_rule("gpt-2").patterns).split("").empty());
}

TEST(Splitters, AreRefusedWhereTheyAreNone) {
  expect_error(ErrorKind::kFormat, "splitting rule '(': ", [] { Splitter({"("}); });
  expect_error(ErrorKind::kUnsupported, "expected one of gpt-2, ",
               [] { (void)split_rule("martian"); });
}

}  // namespace
}  // namespace halftone::lm
