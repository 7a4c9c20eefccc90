// SPDX-License-Identifier: Apache-2.0
// Writes the tokenizers of GGUF files.
#include <cstdint>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/text/gguf_text_keys.h"
#include "halftone/lm/text/tokenizer.h"
#include "halftone/lm/text/tokenizer_state.h"

namespace halftone::lm {
namespace {

/// The text of a token as files have it.
std::string stored_text(const Token& token, std::size_t id, bool is_byte_level) {
  switch (token.kind) {
    case TokenKind::kByte:
      return name_of_byte(static_cast<std::uint8_t>(token.text.at(0)));
    case TokenKind::kUnused:
      return token.text.empty() ? "[PAD" + std::to_string(id) + "]" : token.text;
    case TokenKind::kNormal:
      return is_byte_level && token.is_word ? characters_from_bytes(token.text) : token.text;
    case TokenKind::kUserDefined:
      return is_byte_level ? token.text : replaced(token.text, kSpaceSign, " ");
    case TokenKind::kUnknown:
    case TokenKind::kControl:
      break;
  }
  return token.text;
}

void set_tokens(formats::GgufKeys& keys, const Vocabulary& vocabulary, std::size_t size,
                bool is_byte_level) {
  constexpr float kNeverMerged = -1000;  // as llama.cpp's files have it
  std::vector<std::string> texts;
  std::vector<std::int32_t> kinds;
  std::vector<float> scores;
  for (std::size_t i = 0; i < size; ++i) {
    static const Token unused{"", 0, TokenKind::kUnused};
    const Token& token = i < vocabulary.size() ? vocabulary.token(static_cast<TokenId>(i)) : unused;
    texts.push_back(stored_text(token, i, is_byte_level));
    kinds.push_back(static_cast<std::int32_t>(token.kind));
    scores.push_back(token.kind == TokenKind::kNormal ? token.score : kNeverMerged);
  }
  keys.set(gguf_text_key::kTokens, texts);
  if (!is_byte_level) keys.set(gguf_text_key::kScores, scores);
  keys.set(gguf_text_key::kKinds, kinds);
}

void set_merges(formats::GgufKeys& keys, const Vocabulary& vocabulary, const BytePairs& pairs) {
  std::vector<std::string> merges;
  for (const auto& [left, right] : pairs.merges()) {
    merges.push_back(characters_from_bytes(vocabulary.token(left).text) + " " +
                     characters_from_bytes(vocabulary.token(right).text));
  }
  keys.set(gguf_text_key::kMerges, merges);
}

void set_token_key(formats::GgufKeys& keys, const char* key, TokenId token) {
  if (token != kNoToken) keys.set(key, static_cast<std::uint32_t>(token));
}

/// The rule that splits as a tokenizer on bytes does.
const SplitRule& rule_of(const Tokenizer::State& state) {
  const GgufName& name = state.gguf_name;
  const SplitRule* rule = name.model == GgufName::Kind::kBytes && !name.adds_space
                              ? find_split_rule(name.rule.patterns, name.rule.takes_whole_words)
                              : nullptr;
  if (rule != nullptr) return *rule;
  fail(ErrorKind::kUnsupported,
       "tokenizer: what it does to texts has no name in GGUF files that is known here; convert the "
       "folder with llama.cpp's convert_hf_to_gguf.py and quantize that file, or write "
       "NAME.safetensors");
}

}  // namespace

void Tokenizer::set_gguf_keys(formats::GgufKeys& keys, std::size_t size) const {
  const State& state = *state_;
  const bool has_scores = state.gguf_name.model == GgufName::Kind::kScores;
  if (state.vocabulary.size() > size) {
    fail(ErrorKind::kFormat, "tokenizer: expected at most " + std::to_string(size) +
                                 " tokens, as many as the model has, found " +
                                 std::to_string(state.vocabulary.size()));
  }
  keys.set(gguf_text_key::kRule, has_scores ? "default" : rule_of(state).name);
  keys.set(gguf_text_key::kModel, std::string_view(has_scores ? "llama" : "gpt2"));
  set_tokens(keys, state.vocabulary, size, !has_scores);
  if (const auto* pairs = dynamic_cast<const BytePairs*>(state.model.get());
      pairs != nullptr && !has_scores) {
    set_merges(keys, state.vocabulary, *pairs);
  }
  set_token_key(keys, gguf_text_key::kBegin, state.begin);
  set_token_key(keys, gguf_text_key::kEnd, state.end);
  set_token_key(keys, gguf_text_key::kUnknown, state.unknown);
  keys.set(gguf_text_key::kAddsBegin, !state.front.empty());
  if (!state.back.empty()) {
    set_token_key(keys, gguf_text_key::kEnd, state.back.front());
    keys.set(gguf_text_key::kAddsEnd, true);
  }
  keys.set(gguf_text_key::kAddsSpace, state.gguf_name.adds_space);
}

}  // namespace halftone::lm
