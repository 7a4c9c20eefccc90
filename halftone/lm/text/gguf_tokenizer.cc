// SPDX-License-Identifier: Apache-2.0
// Reads and writes the tokenizers of GGUF files.
#include <cstdint>
#include <optional>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/text/gguf_text_keys.h"
#include "halftone/lm/text/tokenizer.h"
#include "halftone/lm/text/tokenizer_state.h"

namespace halftone::lm {
namespace {

using formats::GgufArray;
using formats::GgufFile;

constexpr std::string_view kByteLevel = "gpt2";
constexpr std::string_view kSentencePiece = "llama";

[[noreturn]] void fail_tokenizer(const std::string& message) { fail(ErrorKind::kFormat, message); }

/// A list of the file; null if it has none.
const GgufArray* list(const GgufFile& file, const char* key) {
  const formats::GgufValue* value = file.find(key);
  if (value == nullptr) return nullptr;
  if (const auto* array = std::get_if<GgufArray>(value)) return array;
  fail_tokenizer("key '" + std::string(key) + "': expected a list, found another type");
}

std::optional<bool> flag(const GgufFile& file, const char* key) {
  const formats::GgufValue* value = file.find(key);
  if (value == nullptr) return std::nullopt;
  if (const auto* found = std::get_if<bool>(value)) return *found;
  fail_tokenizer("key '" + std::string(key) + "': expected a boolean, found another type");
}

TokenId token_key(const GgufFile& file, const char* key, std::size_t size) {
  const auto id = file.integer(key);
  if (!id) return kNoToken;
  if (*id < 0 || static_cast<std::size_t>(*id) >= size) {
    fail_tokenizer("key '" + std::string(key) + "': expected a token below " +
                   std::to_string(size) + ", found " + std::to_string(*id));
  }
  return static_cast<TokenId>(*id);
}

/// The kind and the bytes of a token of a file.
void set_kind(Token& token, std::int64_t kind, bool is_byte_level) {
  if (kind < 1 || kind > 6) {
    fail_tokenizer("key 'tokenizer.ggml.token_type': expected 1 to 6, found " +
                   std::to_string(kind));
  }
  token.kind = static_cast<TokenKind>(kind);
  if (token.kind == TokenKind::kByte) {
    const std::optional<char> byte = byte_named(token.text);
    if (!byte) fail_tokenizer("token '" + token.text + "': expected a byte such as <0x0A>");
    token.text = *byte;
  } else if (is_byte_level && token.kind == TokenKind::kNormal) {
    token.text = bytes_from_characters(token.text);
  } else if (!is_byte_level && token.kind == TokenKind::kUserDefined) {
    token.text = replaced(token.text, " ", kSpaceSign);  // as in texts that are split
  }
}

std::vector<Token> tokens_of(const GgufFile& file, bool is_byte_level) {
  const GgufArray* texts = list(file, gguf_text_key::kTokens);
  if (texts == nullptr || texts->texts.empty()) {
    fail_tokenizer("key 'tokenizer.ggml.tokens': expected a list of texts, found none");
  }
  const GgufArray* scores = list(file, gguf_text_key::kScores);
  const GgufArray* kinds = list(file, gguf_text_key::kKinds);
  const std::size_t size = texts->texts.size();
  if ((scores != nullptr && scores->numbers.size() != size) ||
      (kinds != nullptr && kinds->integers.size() != size)) {
    fail_tokenizer("tokenizer: expected " + std::to_string(size) +
                   " scores and kinds of tokens, found other numbers of them");
  }
  std::vector<Token> tokens(size);
  for (std::size_t i = 0; i < size; ++i) {
    tokens[i].text = texts->texts[i];
    if (scores != nullptr) tokens[i].score = static_cast<float>(scores->numbers[i]);
    set_kind(tokens[i], kinds != nullptr ? kinds->integers[i] : 1, is_byte_level);
  }
  return tokens;
}

/// The pairs of a list of "left right".
std::vector<std::pair<std::string, std::string>> merges_of(const GgufFile& file) {
  const GgufArray* list_of_merges = list(file, gguf_text_key::kMerges);
  if (list_of_merges == nullptr) {
    fail_tokenizer("key 'tokenizer.ggml.merges': expected a list of texts, found none");
  }
  std::vector<std::pair<std::string, std::string>> merges;
  for (const std::string_view merge : list_of_merges->texts) {
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos) {
      fail_tokenizer("merge '" + std::string(merge) + "': expected two texts with a space between");
    }
    merges.emplace_back(bytes_from_characters(merge.substr(0, space)),
                        bytes_from_characters(merge.substr(space + 1)));
  }
  return merges;
}

/// "<0x0A>"
std::string name_of_byte(std::uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
}

/// The text of a token as files have it.
std::string stored_text(const Token& token, std::size_t id, bool is_byte_level) {
  switch (token.kind) {
    case TokenKind::kByte:
      return name_of_byte(static_cast<std::uint8_t>(token.text.at(0)));
    case TokenKind::kUnused:
      return token.text.empty() ? "[PAD" + std::to_string(id) + "]" : token.text;
    case TokenKind::kNormal:
      return is_byte_level ? characters_from_bytes(token.text) : token.text;
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

void set_token(formats::GgufKeys& keys, const char* key, TokenId token) {
  if (token != kNoToken) keys.set(key, static_cast<std::uint32_t>(token));
}

}  // namespace

Tokenizer Tokenizer::from_gguf(const GgufFile& file) {
  const std::string_view model = file.text(gguf_text_key::kModel).value_or("");
  if (model != kByteLevel && model != kSentencePiece) {
    fail(ErrorKind::kUnsupported,
         "key 'tokenizer.ggml.model': expected gpt2 or llama, found '" + std::string(model) + "'");
  }
  const bool is_byte_level = model == kByteLevel;
  auto state = std::make_shared<State>(State{Vocabulary(tokens_of(file, is_byte_level))});
  const std::size_t size = state->vocabulary.size();
  state->begin = token_key(file, gguf_text_key::kBegin, size);
  state->end = token_key(file, gguf_text_key::kEnd, size);
  state->unknown = token_key(file, gguf_text_key::kUnknown, size);
  state->adds_begin = flag(file, gguf_text_key::kAddsBegin).value_or(!is_byte_level);
  if (is_byte_level) {
    const SplitRule& rule = split_rule(file.text(gguf_text_key::kRule).value_or("gpt-2"));
    state->splitter.emplace(rule.patterns);
    state->takes_whole_words = rule.takes_whole_words;
    state->pairs.emplace(state->vocabulary, merges_of(file));
  } else {
    state->adds_space = flag(file, gguf_text_key::kAddsSpace).value_or(true);
  }
  return Tokenizer(std::move(state));
}

void Tokenizer::set_gguf_keys(formats::GgufKeys& keys, std::size_t size) const {
  const State& state = *state_;
  const bool is_byte_level = state.pairs.has_value();
  if (state.vocabulary.size() > size) {
    fail_tokenizer("tokenizer: expected at most " + std::to_string(size) +
                   " tokens, as many as the model has, found " +
                   std::to_string(state.vocabulary.size()));
  }
  const SplitRule* rule = is_byte_level
                              ? find_split_rule(state.splitter->patterns(), state.takes_whole_words)
                              : nullptr;
  if (is_byte_level && (rule == nullptr || state.adds_space)) {
    fail(ErrorKind::kUnsupported,
         "tokenizer: how it splits texts into words has no name in GGUF files that is known here; "
         "convert the folder with llama.cpp's convert_hf_to_gguf.py and quantize that file, or "
         "write NAME.safetensors");
  }
  keys.set(gguf_text_key::kModel, is_byte_level ? kByteLevel : kSentencePiece);
  keys.set(gguf_text_key::kRule, rule != nullptr ? rule->name : std::string_view("default"));
  set_tokens(keys, state.vocabulary, size, is_byte_level);
  if (is_byte_level) set_merges(keys, state.vocabulary, *state.pairs);
  set_token(keys, gguf_text_key::kBegin, state.begin);
  set_token(keys, gguf_text_key::kEnd, state.end);
  set_token(keys, gguf_text_key::kUnknown, state.unknown);
  keys.set(gguf_text_key::kAddsBegin, state.adds_begin);
  keys.set(gguf_text_key::kAddsSpace, state.adds_space);
}

}  // namespace halftone::lm
