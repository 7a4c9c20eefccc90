// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/generate.h"

#include <memory>

#include "halftone/base/testing.h"
#include "halftone/lm/constrain/grammar_text.h"
#include "halftone/lm/generate/testing.h"
#include "halftone/lm/text/testing.h"

namespace halftone::lm {
namespace {

using testing::ElementsAre;
using testing::ElementsAreArray;

constexpr TokenId kEnd = 256;

class Generations : public testing::Test {
 protected:
  Generations() { options_.sampling.temperature = 0; }

  [[nodiscard]] Generation continued(std::string_view prompt) {
    return generate(model_, tokenizer_, tokenizer_.encode(prompt), options_);
  }

  Tokenizer tokenizer_ = Tokenizer::from_gguf(byte_tokens({"</s>"}));
  ParrotModel model_{257, 20, {'H', 'a', 'l', 'f', 't', 'o', 'n', 'e', kEnd}};
  GenerateJob options_;
};

TEST_F(Generations, EndAtTheEndToken) {
  std::vector<std::string> pieces;
  options_.end_tokens = {kEnd};
  std::vector<TokenId> tokens;
  options_.on_token = [&](TokenId token, std::string_view piece) {
    tokens.push_back(token);
    pieces.emplace_back(piece);
    return true;
  };
  const Generation found = continued("Ha");
  EXPECT_EQ(found.text, "lftone");
  EXPECT_THAT(found.tokens, ElementsAre('l', 'f', 't', 'o', 'n', 'e', kEnd));
  EXPECT_THAT(pieces, ElementsAre("", "l", "f", "t", "o", "n", "e", ""));
  EXPECT_THAT(tokens, ElementsAre(kNoToken, 'l', 'f', 't', 'o', 'n', 'e', kEnd));
  EXPECT_EQ(to_string(found.end), "token");
  EXPECT_EQ(found.prompt_tokens, 2U);
  EXPECT_THAT(model_.tokens(0), ElementsAreArray(tokenizer_.encode("Halftone")))
      << "all but the end token";
  EXPECT_GT(found.first_seconds, 0);
}

TEST_F(Generations, FollowAGrammarWhateverTheModelPrefers) {
  const auto tokens = std::make_shared<ConstraintTokens>(tokenizer_);
  const auto form = [&](const char* grammar) {
    return std::make_shared<TextForm>(std::make_shared<Grammar>(parse_grammar(grammar)), tokens);
  };
  options_.form = form("root ::= \"l\" [a-f] \"t\" | \"x\"+");
  Generation found = continued("Ha");
  EXPECT_EQ(found.text, "lft") << "nothing may follow";
  EXPECT_EQ(to_string(found.end), "token");
  EXPECT_THAT(found.tokens, ElementsAre('l', 'f', 't'));
  options_.form = form("root ::= [^l] . .*");
  options_.max_tokens = 5;
  found = continued("Ha");
  EXPECT_EQ(found.text.substr(0, 1), std::string(1, '\0')) << "the first of equal logits";
  EXPECT_EQ(to_string(found.end), "count");
}

TEST_F(Generations, EndForOtherReasons) {
  options_.max_tokens = 3;
  Generation found = continued("Ha");
  EXPECT_EQ(found.text, "lft");
  EXPECT_EQ(to_string(found.end), "count");
  options_.max_tokens = 100;
  options_.stops = {"ne"};
  found = continued("Ha");
  EXPECT_EQ(found.text, "lfto");
  EXPECT_EQ(to_string(found.end), "text");
  options_.stops = {};
  found = continued("Ha");
  EXPECT_EQ(to_string(found.end), "context");
  EXPECT_EQ(found.tokens.size(), 19U) << "18 fit behind the prompt; one is not run";
  options_.on_token = [](TokenId token, std::string_view) { return token != 't'; };
  found = continued("Ha");
  EXPECT_EQ(to_string(found.end), "interrupted");
  EXPECT_EQ(found.text, "lft");
  options_.on_token = [](TokenId, std::string_view) { return false; };
  found = continued("x");
  EXPECT_EQ(to_string(found.end), "interrupted");
  EXPECT_TRUE(found.tokens.empty());
  EXPECT_TRUE(model_.tokens(0).empty());
}

TEST_F(Generations, RunOnlyWhatTheModelDoesNotHave) {
  options_.max_tokens = 2;
  EXPECT_EQ(continued("Ha").text, "lf");
  model_.runs.clear();
  Generation found = continued("Halt");
  EXPECT_EQ(found.reused_tokens, 3U);
  EXPECT_EQ(model_.runs.front(), tokenizer_.encode("t"));
  EXPECT_EQ(found.text, "on");
  model_.runs.clear();
  found = continued("Halt");
  EXPECT_EQ(found.reused_tokens, 3U) << "the last token is run again for its logits";
  EXPECT_EQ(found.text, "on");
}

TEST_F(Generations, RunLongPromptsInParts) {
  ParrotModel model(257, 1000, {'a', 'b'});
  options_.max_tokens = 1;
  const std::string prompt(600, 'a');
  EXPECT_EQ(generate(model, tokenizer_, tokenizer_.encode(prompt), options_).text, "b");
  EXPECT_EQ(model.runs.size(), 3U);
  EXPECT_EQ(model.length(0), 600U);
  options_.max_tokens = 0;
  EXPECT_EQ(generate(model, tokenizer_, tokenizer_.encode(prompt), options_).text, "");
}

TEST_F(Generations, EndWithBytesThatAreNoCharacter) {
  ParrotModel model(257, 20, {'a', 0xC3, kEnd});
  options_.end_tokens = {kEnd};
  std::string shown;
  options_.on_token = [&](TokenId, std::string_view piece) {
    shown += piece;
    return true;
  };
  const Generation found = generate(model, tokenizer_, tokenizer_.encode("a"), options_);
  EXPECT_EQ(found.text, "\xEF\xBF\xBD");
  EXPECT_EQ(shown, found.text);
}

/// A text is the same with guesses as without them, and the sequence has the same tokens.
class GuessingGenerations : public Generations {
 protected:
  /// @return  what was written with guesses
  Generation check(std::string_view prompt, const GenerateJob& job) {
    Generation found[2];
    std::vector<TokenId> kept[2];
    for (const std::size_t lookup : {0U, 15U}) {
      GenerateJob mine = job;
      mine.lookup = lookup;
      ParrotModel model(257, 60, parrot_, certainty_);
      Generation& result = found[lookup == 0 ? 0 : 1];
      result = generate(model, tokenizer_, tokenizer_.encode(prompt), mine);
      kept[lookup == 0 ? 0 : 1].assign(model.tokens(0).begin(), model.tokens(0).end());
      runs_[lookup == 0 ? 0 : 1] = model.runs.size();
    }
    EXPECT_EQ(found[1].tokens, found[0].tokens);
    EXPECT_EQ(found[1].text, found[0].text);
    EXPECT_EQ(found[1].end, found[0].end);
    EXPECT_EQ(kept[1], kept[0]);
    EXPECT_EQ(found[0].guessed_tokens, 0U);
    EXPECT_LE(found[1].accepted_tokens, found[1].guessed_tokens);
    return found[1];
  }

  std::vector<TokenId> parrot_ = {'a', 'b', 'c', 'd', 'a'};
  float certainty_ = 10;
  std::size_t runs_[2] = {};
};

TEST_F(GuessingGenerations, TakeFewRunsWhereATextRepeats) {
  options_.max_tokens = 40;
  const Generation found = check("abcdabcd", options_);
  EXPECT_EQ(found.accepted_tokens, found.guessed_tokens) << "the parrot repeats itself";
  EXPECT_EQ(runs_[0], 40U) << "one for the prompt, and one for each token but the last";
  EXPECT_EQ(runs_[1] + found.accepted_tokens, 40U) << "each right guess saves a run";
  EXPECT_LT(runs_[1], 16U);
}

TEST_F(GuessingGenerations, GuessNothingWhereNothingRepeats) {
  parrot_.clear();
  for (TokenId token = 'A'; token <= 'z'; ++token) parrot_.push_back(token);
  options_.max_tokens = 40;
  EXPECT_EQ(check("A", options_).guessed_tokens, 0U);
  EXPECT_EQ(runs_[1], runs_[0]);
}

TEST_F(GuessingGenerations, DrawTheSameTokens) {
  certainty_ = 7;  // about every tenth token is another one
  options_.sampling = {.temperature = 0.9, .top_k = 0, .top_p = 1, .min_p = 0};
  options_.sampling.repeat_penalty = 1.1;
  std::size_t guessed = 0;
  std::size_t accepted = 0;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    options_.sampling.seed = seed;
    options_.max_tokens = 1 + seed % 60;
    options_.stops = seed % 3 == 0 ? std::vector<std::string>{"da"} : std::vector<std::string>{};
    options_.end_tokens = seed % 5 == 0 ? std::vector<TokenId>{'d'} : std::vector<TokenId>{};
    const Generation found = check("abcdabcdabcd", options_);
    guessed += found.guessed_tokens;
    accepted += found.accepted_tokens;
  }
  EXPECT_GT(accepted, 0U);
  EXPECT_LT(accepted, guessed) << "some are wrong";
}

TEST_F(GuessingGenerations, EndWithinARun) {
  const std::string prompt = "abcdabcdabcdabcd";
  options_.max_tokens = 22;
  EXPECT_EQ(check(prompt, options_).end, End::kCount);
  options_.max_tokens = 1000;
  EXPECT_EQ(check(prompt, options_).end, End::kContext);
  options_.stops = {"dabcdabcda"};
  EXPECT_EQ(check(prompt, options_).end, End::kText);
  int left = 0;
  options_.on_token = [&](TokenId token, std::string_view) {
    left = token == kNoToken ? 11 : left - 1;
    return left != 0;
  };
  options_.stops = {};
  EXPECT_EQ(check(prompt, options_).end, End::kInterrupted);
}

TEST_F(GuessingGenerations, LeaveNoGuessBehindWhenACallbackThrows) {
  ParrotModel model(257, 60, parrot_);
  std::size_t written = 0;
  options_.on_token = [&](TokenId token, std::string_view) -> bool {
    if (token != kNoToken && ++written == 9) fail(ErrorKind::kUsage, "enough");
    return true;
  };
  expect_error(ErrorKind::kUsage, "enough",
               [&] { (void)generate(model, tokenizer_, tokenizer_.encode("abcdabcd"), options_); });
  EXPECT_EQ(model.length(0), 8U + 8U);
}

TEST_F(GuessingGenerations, DoWithoutWhereStatesCannotBeCut) {
  class Recurrent : public ParrotModel {
   public:
    using ParrotModel::ParrotModel;
    [[nodiscard]] bool truncates_freely() const override { return false; }
  };
  Recurrent model(257, 60, parrot_);
  const Generation found = generate(model, tokenizer_, tokenizer_.encode("abcdabcd"), options_);
  EXPECT_EQ(found.guessed_tokens, 0U);
}

TEST_F(Generations, RefusePromptsThatDoNotFit) {
  expect_error(ErrorKind::kUsage, "expected at most 20 tokens, which is the context, found 21",
               [&] { (void)continued(std::string(21, 'a')); });
  expect_error(ErrorKind::kUsage, "expected a token at least", [&] { (void)continued(""); });
  options_.sequence = 2;
  expect_error(ErrorKind::kUsage, "sequence: expected 0 to 1, found 2",
               [&] { (void)continued("a"); });
  EXPECT_TRUE(model_.runs.empty());
}

}  // namespace
}  // namespace halftone::lm
