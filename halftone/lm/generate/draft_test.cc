// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/draft.h"

#include <memory>

#include "halftone/base/testing.h"
#include "halftone/lm/generate/continuation.h"
#include "halftone/lm/generate/testing.h"
#include "halftone/lm/text/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

TEST(DraftLength, IsThatOfTheHighestQuotient) {
  // With 0.7 right and a cost of 0.08 a guess takes 0.2 of a run: 1.7 / 1.2 of one, 2.533 / 1.6 of
  // three, 3.141 / 2.4 of seven.
  EXPECT_EQ(DraftLength(0.08).length(15), 3U);
  EXPECT_EQ(DraftLength(0.08).length(2), 1U) << "lengths of which there are few";
  EXPECT_EQ(DraftLength(0.08).length(0), 0U);
  EXPECT_EQ(DraftLength(2).length(15), 1U) << "a first try";
}

TEST(DraftLength, GrowsAfterHitsAndPausesAfterMisses) {
  DraftLength length(0.08);
  for (int i = 0; i < 20; ++i) length.learn(3, 3);
  EXPECT_EQ(length.length(15), 15U);
  std::size_t misses = 0;
  while (length.length(15) > 0) {
    length.learn(1, 0);
    ASSERT_LT(++misses, 40U);
  }
  for (int i = 0; i < 31; ++i) {
    length.pass();
    EXPECT_EQ(length.length(15), 0U);
  }
  length.pass();
  EXPECT_EQ(length.length(15), 1U) << "another try";
  length.learn(1, 1);
  for (int i = 0; i < 32; ++i) length.pass();
  EXPECT_GE(length.length(15), 1U);
}

class Drafts : public testing::Test {
 protected:
  /// A model that repeats "abcd".
  [[nodiscard]] std::unique_ptr<ParrotModel> parrot(std::size_t context = 60) const {
    return std::make_unique<ParrotModel>(257, context, text_, certainty_);
  }
  /// What a model writes with a draft; the same as alone.
  Generation check(const GenerateJob& job, std::unique_ptr<TokenModel> draft) {
    const std::vector<TokenId> prompt = tokenizer_.encode("ab");
    const auto alone = parrot();
    GenerateJob plain = job;
    plain.lookup = 0;
    const Generation want = generate(*alone, tokenizer_, prompt, plain);
    const auto model = parrot();
    model->set_draft(std::move(draft), 0.05);
    Generation found = generate(*model, tokenizer_, prompt, job);
    EXPECT_EQ(found.tokens, want.tokens);
    EXPECT_EQ(found.text, want.text);
    EXPECT_EQ(found.end, want.end);
    EXPECT_TRUE(std::ranges::equal(model->tokens(0), alone->tokens(0)));
    const std::size_t saved = alone->runs.size() - model->runs.size();
    EXPECT_LE(saved, found.accepted_tokens);
    EXPECT_GE(saved + 1, found.accepted_tokens) << "each saves a run, but the end of a text";
    return found;
  }

  Tokenizer tokenizer_ = Tokenizer::from_gguf(byte_tokens({"</s>"}));
  std::vector<TokenId> text_ = {'a', 'b', 'c', 'd', 'a'};
  float certainty_ = 10;
  GenerateJob job_;
};

TEST_F(Drafts, TakeFewRunsWhereTheyAreRight) {
  job_.sampling.temperature = 0;
  job_.max_tokens = 40;
  job_.lookup = 0;
  const Generation found = check(job_, parrot());
  EXPECT_EQ(found.accepted_tokens, found.guessed_tokens);
  EXPECT_GT(found.accepted_tokens, 25U);
}

TEST_F(Drafts, WriteTheSameTokensOverSeeds) {
  certainty_ = 7;  // about every tenth token is another one
  job_.sampling = {.temperature = 0.9, .top_k = 0, .top_p = 1, .min_p = 0};
  std::size_t guessed = 0;
  std::size_t accepted = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    job_.sampling.seed = seed;
    job_.lookup = seed % 2 == 0 ? 0 : 15;
    job_.max_tokens = 1 + seed % 60;
    job_.end_tokens = seed % 5 == 0 ? std::vector<TokenId>{'d'} : std::vector<TokenId>{};
    job_.stops = seed % 3 == 0 ? std::vector<std::string>{"cdab"} : std::vector<std::string>{};
    std::vector<TokenId> other = text_;
    if (seed % 4 == 0) other = {'a', 'b', 'c', 'x', 'a'};
    const std::size_t context = seed % 7 == 0 ? 30 : 60;
    const Generation found =
        check(job_, std::make_unique<ParrotModel>(257, context, other, certainty_ - 1));
    guessed += found.guessed_tokens;
    accepted += found.accepted_tokens;
  }
  EXPECT_GT(accepted, 0U);
  EXPECT_LT(accepted, guessed) << "some are wrong";
}

TEST_F(Drafts, GuessLittleWhereTheyAreWrong) {
  text_.clear();
  for (TokenId token = 'A'; token <= 'z'; ++token) text_.push_back(token);
  job_.sampling.temperature = 0;
  job_.max_tokens = 24;
  auto other = std::make_unique<ParrotModel>(257, 60, std::vector<TokenId>{'b', 'x'}, 10.0F);
  const Generation found = check(job_, std::move(other));
  EXPECT_EQ(found.accepted_tokens, 0U);
  EXPECT_LT(found.guessed_tokens, 24U) << "in few of the runs";
}

TEST_F(Drafts, ReadPromptsInParts) {
  const auto model = parrot();
  model->set_draft(parrot(), 0.05);
  const std::vector<TokenId> prompts[2] = {tokenizer_.encode("abcdabcdab"),
                                           tokenizer_.encode("bc")};
  Continuation texts[2] = {{*model, tokenizer_, prompts[0], job_},
                           {*model, tokenizer_, prompts[1], job_}};
  const DraftPart parts[2] = {{0, &texts[0], 3}, {1, &texts[1], 3}};
  auto found = write_draft(*model->draft(), parts, 8);
  EXPECT_THAT(found[0], IsEmpty()) << "four of ten tokens";
  EXPECT_THAT(found[1], ElementsAre('d', 'a', 'b'));
  EXPECT_EQ(model->draft()->length(0), 4U);
  found = write_draft(*model->draft(), parts, 8);
  EXPECT_THAT(found[0], IsEmpty());
  found = write_draft(*model->draft(), parts, 8);
  EXPECT_THAT(found[0], ElementsAre('c', 'd', 'a'));
  EXPECT_THAT(found[1], ElementsAre('d', 'a', 'b'));
}

}  // namespace
}  // namespace halftone::lm
