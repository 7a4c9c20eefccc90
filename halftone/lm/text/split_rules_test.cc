// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/split_rules.h"

#include "halftone/base/testing.h"
#include "halftone/lm/text/pre_tokenizer.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

std::vector<std::string> words_of(const std::vector<std::string>& patterns, std::string_view text) {
  PreTokenizer splitter;
  for (const std::string& pattern : patterns) {
    splitter.add(pre_tokenizer_step::split(Regex(pattern), SplitBehavior::kIsolated));
  }
  Pieces pieces(Piece{text, 1});
  splitter.apply(pieces);
  std::vector<std::string> words;
  for (const Piece& piece : pieces.list) words.emplace_back(piece.text);
  return words;
}

std::vector<std::string> words_by(std::string_view rule, std::string_view text) {
  return words_of(split_rule(rule).patterns, text);
}

TEST(SplitRules, AreThoseOfModels) {
  EXPECT_THAT(words_by("gpt-2", "It's  1234 \xC3\xA4pfel!!\n\n x"),
              ElementsAre("It", "'s", " ", " 1234", " \xC3\xA4pfel", "!!", "\n\n", " x"));
  EXPECT_THAT(words_by("llama-bpe", "IT'S 12345 a!\n\nb"),
              ElementsAre("IT", "'S", " ", "123", "45", " a", "!\n\n", "b"));
  EXPECT_THAT(words_by("qwen2", "a 123"), ElementsAre("a", " ", "1", "2", "3"));
  EXPECT_THAT(words_by("smollm", "a 12 b"), ElementsAre("a", " ", "1", "2", " b"));
  EXPECT_THAT(words_by("default", "a12345, b"), ElementsAre("a", "123", "45", ",", " b"));
  EXPECT_THAT(words_by("superbpe", "12345"), ElementsAre("12", "345"));
  EXPECT_THAT(words_by("afmoe", "a1234567"), ElementsAre("a", "1", "234", "567"));
  EXPECT_THAT(words_by("kimi-k2", "\xE4\xB8\xAD\xE4\xB8\xADxY's"),
              ElementsAre("\xE4\xB8\xAD\xE4\xB8\xAD", "xY's"));
  EXPECT_THAT(words_by("gpt-4o", "HelloWorld'S 1234"),
              ElementsAre("Hello", "World'S", " ", "123", "4"));
  EXPECT_THAT(words_by("deepseek-llm", "a  \xC3\xA4 12"),
              ElementsAre("a", " ", " \xC3\xA4", " ", "12"));
}

TEST(SplitRules, TakeWhiteSpaceOfUnicode) {
  // U+00A0 and U+3000 are white space, U+180E is not.
  EXPECT_THAT(words_of({R"(\s+)"}, "a\xC2\xA0\xE3\x80\x80x\xE1\xA0\x8Ey"),
              ElementsAre("a", "\xC2\xA0\xE3\x80\x80", "x\xE1\xA0\x8Ey"));
  EXPECT_THAT(words_of({R"([^\sx]+)"}, "ab xc"), ElementsAre("ab", " x", "c"));
  EXPECT_THAT(words_of({R"(\S)"}, " a "), ElementsAre(" ", "a", " "));
}

TEST(SplitRules, AreRefusedWhereTheyAreNone) {
  expect_error(ErrorKind::kFormat, "splitting rule '(': ", [] { Regex("("); });
  expect_error(ErrorKind::kUnsupported, "expected one of gpt-2, ",
               [] { (void)split_rule("martian"); });
}

TEST(RegularExpressions, AreOniguruma) {
  EXPECT_THAT(words_of({"^a$"}, "a\na\nb"), ElementsAre("a", "\n", "a", "\nb"));
  EXPECT_THAT(words_of({R"(\h+)"}, "xBEEFy"), ElementsAre("x", "BEEF", "y"));
  EXPECT_THAT(words_of({R"(\bcat\b)"},
                       "cat \xC3\xA4"
                       "cat"),
              ElementsAre("cat",
                          " \xC3\xA4"
                          "cat"));
  EXPECT_THAT(words_of({"a{,2}b"}, "aaab"), ElementsAre("a", "aab"));
  EXPECT_THAT(words_of({"(?m:a.b)"}, "a\nb"), ElementsAre("a\nb"));
  EXPECT_THAT(words_of({R"(\p{Letter}+)"}, "a1"), ElementsAre("a", "1"));
  EXPECT_THAT(words_of({"a++b"}, "aab"), ElementsAre("aab"));
  EXPECT_THAT(words_of({"x*"}, "ab"), ElementsAre("a", "b"));
  for (const char* pattern : {"a{2}+", "a{2}?", "[a[b]]", "[a&&b]", "(?s:.)", "(?|a)", R"(\Qa)",
                              R"(\p{Alnum})", R"([\W])", R"(\y)", "(*FAIL)"}) {
    expect_error(ErrorKind::kUnsupported, "which is not known here", [&] { Regex{pattern}; });
  }
}

}  // namespace
}  // namespace halftone::lm
