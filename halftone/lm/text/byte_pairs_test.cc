// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/byte_pairs.h"

#include "halftone/base/testing.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

/// Tokens 0 to 255 are the bytes.
Vocabulary with_bytes(std::vector<std::string> more) {
  std::vector<Token> tokens(256);
  for (std::size_t i = 0; i < 256; ++i) tokens[i].text = std::string(1, static_cast<char>(i));
  for (std::string& text : more) tokens.push_back({std::move(text)});
  return Vocabulary(std::move(tokens));
}

std::vector<TokenId> encoded(const BytePairs& pairs, std::string_view word) {
  std::vector<TokenId> tokens;
  pairs.encode(word, AllowedTokens(), tokens);
  return tokens;
}

TEST(BytePairs, AreMergedByRank) {
  const Vocabulary vocabulary = with_bytes({"bc", "ab", "abc", "aa"});
  const BytePairs pairs(vocabulary, {{"b", "c"}, {"a", "b"}, {"ab", "c"}, {"a", "a"}});
  EXPECT_THAT(encoded(pairs, "abc"), ElementsAre('a', 256));  // b c before a b
  EXPECT_THAT(encoded(pairs, "abab"), ElementsAre(257, 257));
  EXPECT_THAT(encoded(pairs, "aaa"), ElementsAre(259, 'a'));  // the first of equal ranks
  EXPECT_THAT(encoded(pairs, "aaaa"), ElementsAre(259, 259));
  EXPECT_THAT(encoded(pairs, "z"), ElementsAre('z'));
  EXPECT_TRUE(encoded(pairs, "").empty());
}

TEST(BytePairs, NeedTheirTokens) {
  const Vocabulary vocabulary = with_bytes({"ab"});
  expect_error(ErrorKind::kFormat, "merge 1: expected tokens of the vocabulary", [&] {
    BytePairs(vocabulary, {{"a", "b"}, {"b", "c"}});
  });
}

TEST(BytePairs, LeaveOutBytesWithoutAToken) {
  const Vocabulary vocabulary({{"a"}, {"b"}, {"ab"}});
  EXPECT_THAT(encoded(BytePairs(vocabulary, {{"a", "b"}}),
                      "\x04"
                      "a\x04"
                      "b"),
              ElementsAre(2));
  EXPECT_TRUE(encoded(BytePairs(vocabulary, {}), "\x04").empty());
}

TEST(BytePairs, HaveCharactersForBytesInFiles) {
  EXPECT_EQ(bytes_from_characters("\xC4\xA0"
                                  "a"),
            " a");                                     // U+0120 is a space
  EXPECT_EQ(bytes_from_characters("\xC4\x8A"), "\n");  // U+010A
  EXPECT_EQ(bytes_from_characters("\xC3\x83\xC2\xA4"), "\xC3\xA4");
  EXPECT_EQ(bytes_from_characters("\xE4\xB8\xAD"), "\xE4\xB8\xAD");  // represents no byte
  EXPECT_EQ(bytes_from_characters(to_utf8(0x143)), "\xAD");
}

}  // namespace
}  // namespace halftone::lm
