// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/scored_pairs.h"

#include "halftone/base/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

std::vector<TokenId> encoded(const Vocabulary& vocabulary, std::string_view text,
                             TokenId unknown = 0) {
  std::vector<TokenId> tokens;
  if (!text.empty()) ScoredPairs(vocabulary, unknown).encode(text, AllowedTokens(), tokens);
  return tokens;
}

TEST(ScoredPairs, AreMergedByScore) {
  const Vocabulary vocabulary({{"<unk>", 0, TokenKind::kUnknown},
                               {"a", -10},
                               {"b", -11},
                               {"ab", -2},
                               {"ba", -1},
                               {"aba", -3}});
  EXPECT_THAT(encoded(vocabulary, "aba"), ElementsAre(5));  // ba first, then a + ba
  EXPECT_THAT(encoded(vocabulary, "abb"), ElementsAre(3, 2));
  EXPECT_THAT(encoded(vocabulary, "axb"), ElementsAre(1, 0, 2));
  EXPECT_TRUE(encoded(vocabulary, "").empty());
}

TEST(ScoredPairs, FallBackToBytes) {
  const Vocabulary vocabulary({{"<unk>", 0, TokenKind::kUnknown},
                               {"\xC3", 0, TokenKind::kByte},
                               {"\xA4", 0, TokenKind::kByte},
                               {"xx", 0},
                               {"x", -1}});
  EXPECT_THAT(encoded(vocabulary, "\xC3\xA4x"), ElementsAre(1, 2, 4));
  EXPECT_THAT(encoded(vocabulary, "\xC3\xA5x"), ElementsAre(1, 0, 4));
  EXPECT_THAT(encoded(vocabulary, "xxx"), ElementsAre(3, 4));
  expect_error(ErrorKind::kFormat, "expected tokens of bytes or an unknown one",
               [&] { encoded(vocabulary, "z", kNoToken); });
}

}  // namespace
}  // namespace halftone::lm
