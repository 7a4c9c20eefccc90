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
  const std::vector<std::vector<TokenId>> texts = {counting_text(103)};
  const Samples samples = choose_samples(texts, {.tokens = 10, .fit = 4, .held_out = 1});
  EXPECT_EQ(samples.tokens, 10U);
  EXPECT_THAT(first_tokens(samples.fit), ElementsAre(0, 20, 40, 60));
  EXPECT_THAT(first_tokens(samples.held_out), ElementsAre(80));
  EXPECT_EQ(samples.fit[1], counting_text(10, 20));
}

TEST(Samples, ComeFromAllTextsAlike) {
  const std::vector<std::vector<TokenId>> texts = {counting_text(400), counting_text(40, 1000)};
  const Samples samples = choose_samples(texts, {.tokens = 10, .fit = 4, .held_out = 2});
  EXPECT_THAT(first_tokens(samples.fit), ElementsAre(0, 130, 1000, 1010));
  EXPECT_THAT(first_tokens(samples.held_out), ElementsAre(260, 1020));
}

TEST(Samples, OfAShortTextAreFewer) {
  const std::vector<std::vector<TokenId>> texts = {counting_text(39)};
  const Samples samples = choose_samples(texts, {.tokens = 10, .fit = 64, .held_out = 8});
  EXPECT_THAT(first_tokens(samples.fit), ElementsAre(0, 10));
  EXPECT_THAT(first_tokens(samples.held_out), ElementsAre(20));
  const Samples all = choose_samples(texts, {.tokens = 10, .fit = 64, .held_out = 0});
  EXPECT_THAT(first_tokens(all.fit), ElementsAre(0, 10, 20));
  EXPECT_TRUE(all.held_out.empty());
}

TEST(Samples, BeginWithTheTokenOfTheModel) {
  const std::vector<std::vector<TokenId>> texts = {counting_text(8)};
  const Samples samples =
      choose_samples(texts, {.tokens = 4, .fit = 2, .held_out = 0, .begin = 77});
  EXPECT_THAT(samples.fit, ElementsAre(ElementsAre(77, 1, 2, 3), ElementsAre(77, 5, 6, 7)));
}

TEST(Samples, RejectWhatGivesNone) {
  const auto choose = [](std::size_t text, const SampleOptions& options) {
    const std::vector<std::vector<TokenId>> texts = {counting_text(text)};
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
