// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/constraint.h"

#include <cmath>

#include "halftone/base/random.h"
#include "halftone/base/testing.h"
#include "halftone/lm/constrain/grammar_text.h"
#include "halftone/lm/constrain/json_schema.h"
#include "halftone/lm/constrain/testing.h"
#include "halftone/lm/text/testing.h"

namespace halftone::lm {
namespace {

std::vector<TokenId> allowed(Constraint& constraint, std::size_t count) {
  std::vector<float> logits(count, 1);
  constraint.apply(logits);
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < count; ++i) {
    if (std::isfinite(logits[i])) tokens.push_back(static_cast<TokenId>(i));
  }
  return tokens;
}

class Constraints : public testing::Test {
 protected:
  [[nodiscard]] Constraint of(const char* grammar) const {
    return Constraint(std::make_shared<Grammar>(parse_grammar(grammar)), tokens_, {256}, false);
  }
  /// Bytes and "</s>".
  Tokenizer tokenizer_ = Tokenizer::from_gguf(byte_tokens({"</s>"}));
  std::shared_ptr<const ConstraintTokens> tokens_ = std::make_shared<ConstraintTokens>(tokenizer_);
};

TEST_F(Constraints, AllowTheTokensThatGoOn) {
  Constraint constraint = of("root ::= \"ab\" | \"ac\"");
  EXPECT_THAT(allowed(constraint, 257), testing::ElementsAre('a'));
  constraint.accept('a');
  EXPECT_FALSE(constraint.must_end());
  EXPECT_THAT(allowed(constraint, 257), testing::ElementsAre('b', 'c'));
  constraint.accept('c');
  EXPECT_TRUE(constraint.must_end());
  EXPECT_THAT(allowed(constraint, 257), testing::ElementsAre(256)) << "the end";
}

TEST_F(Constraints, AllowControlTokensThatAreText) {
  const Tokenizer tokenizer = Tokenizer::from_gguf(byte_tokens({"[CALL]", "[/CALL]", "</s>"}));
  Constraint constraint(
      std::make_shared<Grammar>(parse_grammar("root ::= \"[CALL]x\"")),
      std::make_shared<ConstraintTokens>(tokenizer, std::vector<TokenId>{256, 257}), {258}, true);
  EXPECT_THAT(allowed(constraint, 259), testing::ElementsAre('[', 256));
  constraint.accept(256);
  EXPECT_THAT(allowed(constraint, 259), testing::ElementsAre('x'));
}

TEST_F(Constraints, AllowTheEndWhereTheTextIsWhole) {
  Constraint constraint = of("root ::= \"a\"*");
  EXPECT_THAT(allowed(constraint, 300), testing::ElementsAre('a', 256))
      << "logits without a token are none";
  constraint.accept('a');
  EXPECT_THAT(allowed(constraint, 257), testing::ElementsAre('a', 256));
  EXPECT_FALSE(constraint.must_end());
}

TEST_F(Constraints, SayWhereNoTokenGoesOn) {
  Constraint constraint(std::make_shared<Grammar>(parse_grammar("root ::= \"a\"")), tokens_, {},
                        false);
  constraint.accept('a');
  std::vector<float> logits(257, 1);
  expect_error(ErrorKind::kUnsupported,
               "expected a token of the model that goes on with the text, found none",
               [&] { constraint.apply(logits); });
}

/// The tokens of a mask are those whose bytes an acceptor reads, one by one.
TEST(TokenMasks, AreWhatReadingEachTokenGives) {
  Random random(1);
  std::vector<std::string> texts;
  for (int i = 0; i < 2000; ++i) {
    std::string text;
    const auto length = 1 + static_cast<std::size_t>(random.uniform() * 6);
    while (text.size() < length) text += "{}[]\",:abe10 -"[static_cast<int>(random.uniform() * 14)];
    texts.push_back(characters_from_bytes(text));
  }
  formats::GgufKeys keys = tokenizer_keys("gpt2", texts);
  keys.set("tokenizer.ggml.merges", std::vector<std::string>());
  const Tokenizer tokenizer = Tokenizer::from_gguf(formats::gguf_of(keys));
  const SortedTokens tokens(tokenizer);
  Acceptor acceptor(std::make_shared<Grammar>(grammar_of_json_objects()));
  Acceptor::State state = acceptor.start();
  for (const char byte : std::string("{\"ab\": [1, {\"e\":")) {
    const TokenMask mask = allowed_tokens(tokens, acceptor, state);
    for (std::size_t i = 0; i < mask.size(); ++i) {
      const std::string_view text = tokens.text(static_cast<TokenId>(i));
      Acceptor::State at = state;
      for (const char each : text) at = acceptor.after(at, static_cast<std::uint8_t>(each));
      EXPECT_EQ(mask[i], !text.empty() && at != Acceptor::kNowhere) << text;
    }
    state = acceptor.after(state, static_cast<std::uint8_t>(byte));
  }
}

}  // namespace
}  // namespace halftone::lm
