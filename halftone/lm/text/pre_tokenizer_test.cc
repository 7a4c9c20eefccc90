// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/pre_tokenizer.h"

#include "halftone/base/testing.h"
#include "halftone/lm/text/added_tokens.h"
#include "halftone/lm/text/characters.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

std::vector<std::string> pieces_of(const PreTokenizerStep& step, std::string_view text,
                                   std::size_t front = 1) {
  Pieces pieces(Piece{text, front});
  step(pieces);
  std::vector<std::string> texts;
  for (const Piece& piece : pieces.list) texts.emplace_back(piece.text);
  return texts;
}

TEST(PreTokenizers, KeepSeparatorsAsTheBehaviorSays) {
  const auto split = [](SplitBehavior behavior, bool is_inverted = false) {
    return pieces_of(pre_tokenizer_step::split(Regex("-"), behavior, is_inverted), "-a--b-");
  };
  EXPECT_THAT(split(SplitBehavior::kRemoved), ElementsAre("a", "b"));
  EXPECT_THAT(split(SplitBehavior::kRemoved, true), ElementsAre("-", "-", "-", "-"));
  EXPECT_THAT(split(SplitBehavior::kIsolated), ElementsAre("-", "a", "-", "-", "b", "-"));
  EXPECT_THAT(split(SplitBehavior::kMergedWithPrevious), ElementsAre("-", "a-", "-", "b-"));
  EXPECT_THAT(split(SplitBehavior::kMergedWithNext), ElementsAre("-a", "-", "-b", "-"));
  EXPECT_THAT(split(SplitBehavior::kContiguous), ElementsAre("-", "a", "--", "b", "-"));
}

TEST(PreTokenizers, DoWhatTheirNamesSay) {
  EXPECT_THAT(pieces_of(pre_tokenizer_step::words(), "ab_1  c!? "), ElementsAre("ab_1", "c", "!?"));
  EXPECT_THAT(pieces_of(pre_tokenizer_step::fixed_length(2),
                        "\xC3\xA4"
                        "bc"),
              ElementsAre("\xC3\xA4"
                          "b",
                          "c"));
  EXPECT_THAT(pieces_of(pre_tokenizer_step::split_at(is_number, SplitBehavior::kIsolated), "a12"),
              ElementsAre("a", "1", "2"));
  EXPECT_THAT(pieces_of(pre_tokenizer_step::add_space(), "a"), ElementsAre(" a"));
  EXPECT_THAT(pieces_of(pre_tokenizer_step::add_space(), " a"), ElementsAre(" a"));
}

TEST(PreTokenizers, PutASignInFrontAsTheSchemeSays) {
  const auto split = [](PrependScheme scheme, std::size_t front) {
    return pieces_of(pre_tokenizer_step::metaspace("_", scheme, true), "a b", front);
  };
  EXPECT_THAT(split(PrependScheme::kAlways, 0), ElementsAre("_a", "_b"));
  EXPECT_THAT(split(PrependScheme::kFirst, 1), ElementsAre("_a", "_b"));
  EXPECT_THAT(split(PrependScheme::kFirst, 0), ElementsAre("a", "_b"));
  EXPECT_THAT(split(PrependScheme::kNever, 1), ElementsAre("a", "_b"));
}

std::vector<std::string> found_in(const AddedTokens& tokens, std::string_view text) {
  std::vector<std::string> texts;
  for (const AddedTokens::Found& found : tokens.find(text, {})) {
    texts.emplace_back(text.substr(found.begin, found.end - found.begin));
  }
  return texts;
}

TEST(AddedTokenLists, FindWhatTheirOrderSays) {
  const std::vector<AddedToken> tokens = {{1, "ab"}, {2, "a"}, {3, "bcd"}};
  EXPECT_THAT(found_in(AddedTokens(tokens, AddedTokens::Order::kFirst), "abcda"),
              ElementsAre("ab", "a"));
  EXPECT_THAT(found_in(AddedTokens(tokens, AddedTokens::Order::kLongest), "abcda"),
              ElementsAre("a", "bcd", "a"));
}

TEST(AddedTokenLists, TakeWhiteSpaceBeside) {
  for (const auto order : {AddedTokens::Order::kFirst, AddedTokens::Order::kLongest}) {
    EXPECT_THAT(found_in(AddedTokens({{1, "x", true, false, true, true}}, order), "a \tx\nb x"),
                ElementsAre(" \tx\n", " x"));
  }
  EXPECT_THAT(
      found_in(AddedTokens({{1, "x", true, true}}, AddedTokens::Order::kFirst), "ax x-x x_"),
      ElementsAre("x", "x"));
}

TEST(AddedTokenLists, TakeTheFirstOfOneText) {
  const AddedTokens tokens({{1, "a"}, {2, "a"}}, AddedTokens::Order::kFirst);
  EXPECT_EQ(tokens.find("a", {}).at(0).token->id, 1);
}

TEST(AddedTokenLists, LeaveOutWhatIsNoText) {
  EXPECT_TRUE(AddedTokens({{1, "\xC3"}, {2, ""}}, AddedTokens::Order::kFirst).empty());
}

}  // namespace
}  // namespace halftone::lm
