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
  [[nodiscard]] std::shared_ptr<TextForm> form(const char* grammar) const {
    return std::make_shared<TextForm>(std::make_shared<Grammar>(parse_grammar(grammar)), tokens_);
  }
  [[nodiscard]] Constraint of(const char* grammar) const {
    return Constraint(form(grammar), {256}, false);
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
  const auto form = std::make_shared<TextForm>(
      std::make_shared<Grammar>(parse_grammar("root ::= \"[CALL]x\"")),
      std::make_shared<ConstraintTokens>(tokenizer, std::vector<TokenId>{256, 257}));
  Constraint constraint(form, {258}, true);
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
  Constraint constraint(form("root ::= \"a\""), {}, false);
  constraint.accept('a');
  std::vector<float> logits(257, 1);
  expect_error(ErrorKind::kUnsupported,
               "expected a token of the model that goes on with the text, found none",
               [&] { constraint.apply(logits); });
}

/// A form of which each text meets states of its own, more than are remembered.
TEST_F(Constraints, ShareWhatTheyHaveMetAndForgetWhatIsTooMuch) {
  const auto shared = form("root ::= \"(\" root \")\" | [a-z]");
  constexpr std::size_t kDepth = 9000;  // states of about 2 KiB: more than fit
  std::vector<Constraint> texts(3, Constraint(shared, {256}, false));
  std::vector<std::size_t> depths{kDepth, kDepth / 2, 3};
  for (std::size_t step = 0; step < kDepth; ++step) {
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (step >= depths[i]) continue;
      if (step % 500 == 0) {
        EXPECT_EQ(allowed(texts[i], 257).size(), 27U) << i << " " << step;
      }
      texts[i].accept('(');
    }
  }
  for (std::size_t i = 0; i < texts.size(); ++i) {
    texts[i].accept('x');
    for (std::size_t left = depths[i]; left > 0; --left) {
      if (left % 500 == 1) {
        EXPECT_THAT(allowed(texts[i], 257), testing::ElementsAre(')'));
      }
      texts[i].accept(')');
    }
    EXPECT_THAT(allowed(texts[i], 257), testing::ElementsAre(256));
    EXPECT_TRUE(texts[i].must_end());
  }
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
