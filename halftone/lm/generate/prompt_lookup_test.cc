// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/prompt_lookup.h"

#include <gmock/gmock.h>

namespace halftone::lm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

using Tokens = std::vector<TokenId>;

TEST(PromptLookup, GuessesWhatFollowedTheLongestEndBefore) {
  PromptLookup lookup;
  const Tokens text = {1, 2, 3, 4, 5, 6, 9, 2, 3, 7, 8, 1, 2, 3};
  lookup.look(text);
  EXPECT_THAT(lookup.guess(text, 15), ElementsAre(4, 5, 6))
      << "half of such guesses are taken to be right: three are above the price of a row";
  EXPECT_THAT(lookup.guess(text, 2), ElementsAre(4)) << "numbers of which there are few";
  EXPECT_THAT(lookup.guess(text, 0), IsEmpty());
}

TEST(PromptLookup, GuessesNothingWithoutALongEnd) {
  for (const Tokens& text : {Tokens{}, Tokens{1}, Tokens{1, 2, 3, 4}, Tokens{1, 2, 3, 1, 2}}) {
    PromptLookup lookup;
    lookup.look(text);
    EXPECT_THAT(lookup.guess(text, 15), IsEmpty()) << text.size();
  }
}

TEST(PromptLookup, GoesOnBehindTheEndOfWhatRepeats) {
  PromptLookup lookup;
  Tokens text;
  for (TokenId i = 0; i < 60; ++i) {
    text.push_back(i % 2);
    lookup.look(text);
  }
  const Tokens guess = lookup.guess(text, 7);
  EXPECT_THAT(guess, ElementsAre(0, 1, 0, 1, 0, 1, 0));
  EXPECT_EQ(lookup.guess(text, 100).size(), 63U) << "after many that were right";
}

TEST(PromptLookup, StopsAfterMissesAndBeginsAgainAfterHits) {
  PromptLookup lookup;
  Tokens text;
  const auto add = [&](TokenId token) {
    text.push_back(token);
    lookup.look(text);
    return lookup.guess(text, 15).size();
  };
  const auto add_front = [&] {
    add(1);
    add(2);
    return add(3);
  };
  TokenId other = 10;
  std::size_t guesses = 0;
  for (int i = 0; i < 8; ++i) {  // the same front, and another token each time
    guesses = add_front();
    add(other++);
  }
  EXPECT_EQ(guesses, 0U);
  for (int i = 0; i < 8; ++i) {
    guesses = add_front();
    add(4);
  }
  EXPECT_GE(guesses, 3U);
}

}  // namespace
}  // namespace halftone::lm
