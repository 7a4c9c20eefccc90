// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/quantize/samples.h"

#include <numeric>

#include "halftone/base/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;

/// Tokens first, first + 1, ...
std::vector<TokenId> counting_text(std::size_t size, TokenId first = 0) {
  std::vector<TokenId> text(size);
  std::iota(text.begin(), text.end(), first);
  return text;
}

std::vector<TokenId> first_tokens(const std::vector<std::vector<TokenId>>& samples) {
  std::vector<TokenId> tokens;
  for (const auto& sample : samples) tokens.push_back(sample[0]);
  return tokens;
}

TEST(Samples, AreSpreadOverTheText) {
  const std::vector<TokenizedText> texts = {{counting_text(203)}};
  const Samples samples = choose_samples(texts, {.tokens = 10, .fit = 4, .held_out = 1});
  EXPECT_EQ(samples.tokens, 10U);
  // Of 20 places every fifth is held out.
  EXPECT_THAT(first_tokens(samples.fit), ElementsAre(20, 70, 120, 170));
  EXPECT_THAT(first_tokens(samples.held_out), ElementsAre(140));
  EXPECT_EQ(samples.fit[1], counting_text(10, 70));
  EXPECT_EQ(samples.adjoining, 0U);
}

TEST(Samples, ComeFromAllTextsAlike) {
  const std::vector<TokenizedText> texts = {{counting_text(400)}, {counting_text(40, 1000)}};
  const Samples samples = choose_samples(texts, {.tokens = 10, .fit = 4, .held_out = 2});
  EXPECT_THAT(first_tokens(samples.fit), ElementsAre(90, 300, 1000, 1030));
  EXPECT_THAT(first_tokens(samples.held_out), ElementsAre(200, 1020));
  EXPECT_THAT(samples.texts, ElementsAre(0, 0, 1, 1, 0, 1));
  // What a short text lacks comes from the others.
  const Samples more = choose_samples(texts, {.tokens = 10, .fit = 8, .held_out = 4});
  EXPECT_EQ(more.fit.size(), 8U);
  EXPECT_THAT(more.texts, ElementsAre(0, 0, 0, 0, 0, 1, 1, 1, 0, 0, 0, 1));
}

TEST(Samples, OfAShortTextAreFewer) {
  const std::vector<TokenizedText> texts = {{counting_text(39)}};
  const Samples samples = choose_samples(texts, {.tokens = 10, .fit = 64, .held_out = 8});
  EXPECT_THAT(first_tokens(samples.fit), ElementsAre(0, 10));
  EXPECT_THAT(first_tokens(samples.held_out), ElementsAre(20));
  EXPECT_EQ(samples.adjoining, 1U);
  const Samples all = choose_samples(texts, {.tokens = 10, .fit = 64, .held_out = 0});
  EXPECT_THAT(first_tokens(all.fit), ElementsAre(0, 10, 20));
  EXPECT_TRUE(all.held_out.empty());
}

TEST(Samples, HeldOutComeFromOtherDocuments) {
  // Six documents of 25, 31, 40, 29, 20 and 55 tokens; the mean of the first five is 29.
  const std::vector<TokenizedText> texts = {{counting_text(200), {0, 25, 56, 96, 125, 145}}};
  const Samples samples = choose_samples(texts, {.tokens = 10, .fit = 64, .held_out = 16});
  EXPECT_THAT(first_tokens(samples.held_out), ElementsAre(96, 106));
  // Samples to fit may cross a border between two documents to fit, but not the one held out.
  EXPECT_THAT(first_tokens(samples.fit),
              ElementsAre(0, 10, 20, 30, 40, 50, 60, 70, 80, 125, 135, 145, 155, 165, 175, 185));
  EXPECT_THAT(samples.documents, ElementsAre(0, 0, 0, 1, 1, 1, 2, 2, 2, 4, 4, 5, 5, 5, 5, 5, 3, 3));
}

TEST(Samples, JoinShortDocuments) {
  // Documents of 4 tokens: three make a passage of 12, the last two go to the one before.
  std::vector<std::size_t> documents;
  for (std::size_t i = 0; i < 17; ++i) documents.push_back(4 * i);
  const std::vector<TokenizedText> texts = {{counting_text(68), documents}};
  const Samples samples = choose_samples(texts, {.tokens = 10, .fit = 4, .held_out = 1});
  EXPECT_THAT(first_tokens(samples.fit), ElementsAre(0, 10, 48, 58));
  EXPECT_THAT(first_tokens(samples.held_out), ElementsAre(36));
  EXPECT_THAT(samples.documents, ElementsAre(0, 0, 4, 4, 3));
}

TEST(Samples, HeldOutOfManyShortTextsAreOfOthers) {
  std::vector<TokenizedText> texts;
  for (TokenId i = 0; i < 5; ++i) texts.push_back({counting_text(30, 100 * i)});
  const Samples samples = choose_samples(texts, {.tokens = 10, .fit = 8, .held_out = 2});
  EXPECT_THAT(samples.texts, ElementsAre(0, 0, 1, 1, 2, 2, 3, 3, 4, 4));
  EXPECT_THAT(first_tokens(samples.held_out), ElementsAre(400, 420));
}

TEST(Samples, BeginWithTheTokenOfTheModel) {
  const std::vector<TokenizedText> texts = {{counting_text(8)}};
  const Samples samples =
      choose_samples(texts, {.tokens = 4, .fit = 2, .held_out = 0, .begin = 77});
  EXPECT_THAT(samples.fit, ElementsAre(ElementsAre(77, 1, 2, 3), ElementsAre(77, 5, 6, 7)));
}

TEST(Samples, RejectWhatGivesNone) {
  const auto choose = [](std::size_t text, const SampleOptions& options) {
    const std::vector<TokenizedText> texts = {{counting_text(text)}};
    (void)choose_samples(texts, options);
  };
  expect_error(ErrorKind::kUsage, "expected 20 tokens or more, found 19",
               [&] { choose(19, {.tokens = 10}); });
  expect_error(ErrorKind::kUsage, "expected 2 or more, found 1",
               [&] { choose(19, {.tokens = 1}); });
  expect_error(ErrorKind::kUsage, "expected 1 or more",
               [&] { choose(19, {.tokens = 2, .fit = 0}); });
  expect_error(ErrorKind::kUsage, "expected a text", [] { (void)choose_samples({}, {}); });
}

}  // namespace
}  // namespace halftone::lm
