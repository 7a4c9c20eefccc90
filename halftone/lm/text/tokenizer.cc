// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/tokenizer.h"

#include <charconv>
#include <optional>
#include <utility>

#include "halftone/base/byte_reader.h"
#include "halftone/base/error.h"
#include "halftone/lm/text/scored_pairs.h"
#include "halftone/lm/text/tokenizer_state.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {

namespace {

using formats::GgufArray;
using formats::GgufFile;

const std::string kKey = "tokenizer.ggml.";

[[noreturn]] void fail_format(const std::string& message) { fail(ErrorKind::kFormat, message); }

/// A list of the file; null if it has none.
const GgufArray* list(const GgufFile& file, const std::string& key) {
  const formats::GgufValue* value = file.find(kKey + key);
  if (value == nullptr) return nullptr;
  if (const auto* array = std::get_if<GgufArray>(value)) return array;
  fail_format("key '" + kKey + key + "': expected a list, found another type");
}

std::optional<bool> flag(const GgufFile& file, const std::string& key) {
  const formats::GgufValue* value = file.find(kKey + key);
  if (value == nullptr) return std::nullopt;
  if (const auto* found = std::get_if<bool>(value)) return *found;
  fail_format("key '" + kKey + key + "': expected a boolean, found another type");
}

TokenId token_key(const GgufFile& file, const std::string& key, std::size_t size) {
  const auto id = file.integer(kKey + key);
  if (!id) return kNoToken;
  if (*id < 0 || static_cast<std::size_t>(*id) >= size) {
    fail_format("key '" + kKey + key + "': expected a token below " + std::to_string(size) +
                ", found " + std::to_string(*id));
  }
  return static_cast<TokenId>(*id);
}

/// The kind and the bytes of a token of a file.
void set_kind(Token& token, std::int64_t kind, bool is_byte_level) {
  if (kind < 1 || kind > 6) {
    fail_format("key '" + kKey + "token_type': expected 1 to 6, found " + std::to_string(kind));
  }
  token.kind = static_cast<TokenKind>(kind);
  if (token.kind == TokenKind::kByte) {
    const std::optional<char> byte = byte_named(token.text);
    if (!byte) fail_format("token '" + token.text + "': expected a byte such as <0x0A>");
    token.text = *byte;
  } else if (is_byte_level && token.kind == TokenKind::kNormal) {
    token.text = bytes_from_characters(token.text);
  }
}

std::vector<Token> tokens_of(const GgufFile& file, bool is_byte_level) {
  const GgufArray* texts = list(file, "tokens");
  if (texts == nullptr || texts->texts.empty()) {
    fail_format("key '" + kKey + "tokens': expected a list of texts, found none");
  }
  const GgufArray* scores = list(file, "scores");
  const GgufArray* kinds = list(file, "token_type");
  const std::size_t size = texts->texts.size();
  if ((scores != nullptr && scores->numbers.size() != size) ||
      (kinds != nullptr && kinds->integers.size() != size)) {
    fail_format("tokenizer: expected " + std::to_string(size) +
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
  const GgufArray* list_of_merges = list(file, "merges");
  if (list_of_merges == nullptr) {
    fail_format("key '" + kKey + "merges': expected a list of texts, found none");
  }
  std::vector<std::pair<std::string, std::string>> merges;
  for (const std::string_view merge : list_of_merges->texts) {
    const std::size_t space = merge.find(' ', 1);
    if (space == std::string_view::npos) {
      fail_format("merge '" + std::string(merge) + "': expected two texts with a space between");
    }
    merges.emplace_back(bytes_from_characters(merge.substr(0, space)),
                        bytes_from_characters(merge.substr(space + 1)));
  }
  return merges;
}

}  // namespace

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
  std::string result;
  for (;;) {
    const std::size_t at = text.find(from);
    result += text.substr(0, at);
    if (at == std::string_view::npos) return result;
    result += to;
    text.remove_prefix(at + from.size());
  }
}

std::optional<char> byte_named(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
  if (error != std::errc() || end != text.data() + 5) return std::nullopt;
  return static_cast<char>(value);
}

void Tokenizer::State::encode_words(std::string_view text, std::vector<TokenId>& tokens) const {
  for (const std::string_view word : splitter->split(text)) {
    const TokenId whole = takes_whole_words ? vocabulary.find(word) : kNoToken;
    if (whole != kNoToken) {
      tokens.push_back(whole);
    } else {
      pairs->encode(word, tokens);
    }
  }
}

void Tokenizer::State::encode(std::string_view text, bool is_first,
                              std::vector<TokenId>& tokens) const {
  if (text.empty()) return;
  std::string normal;
  if (composes) text = normal = composed(text);
  if (!pairs) {
    std::string spaced = replaced(text, " ", kSpaceSign);
    if (adds_space && is_first) spaced.insert(0, kSpaceSign);
    return encode_by_scores(vocabulary, unknown, spaced, tokens);
  }
  std::string spaced;
  if (adds_space && is_first && text.front() != ' ') {
    spaced.append(" ").append(text);
    text = spaced;
  }
  std::size_t begin_of_words = 0;
  for (std::size_t at = 0; at < text.size();) {
    const TokenId special = vocabulary.special(text.substr(at), false);
    if (special == kNoToken) {
      ++at;
      continue;
    }
    encode_words(text.substr(begin_of_words, at - begin_of_words), tokens);
    tokens.push_back(special);
    at += vocabulary.token(special).text.size();
    begin_of_words = at;
  }
  if (begin_of_words < text.size()) encode_words(text.substr(begin_of_words), tokens);
}

Tokenizer::Tokenizer(std::shared_ptr<const State> state) : state_(std::move(state)) {}

Tokenizer Tokenizer::from_gguf(const GgufFile& file) {
  const std::string_view model = file.text(kKey + "model").value_or("");
  if (model != "gpt2" && model != "llama") {
    fail(ErrorKind::kUnsupported,
         "key '" + kKey + "model': expected gpt2 or llama, found '" + std::string(model) + "'");
  }
  const bool is_byte_level = model == "gpt2";
  auto state = std::make_shared<State>(State{Vocabulary(tokens_of(file, is_byte_level))});
  const std::size_t size = state->vocabulary.size();
  state->begin = token_key(file, "bos_token_id", size);
  state->end = token_key(file, "eos_token_id", size);
  state->unknown = token_key(file, "unknown_token_id", size);
  state->adds_begin = flag(file, "add_bos_token").value_or(!is_byte_level);
  if (is_byte_level) {
    const std::string_view rule = file.text(kKey + "pre").value_or("gpt-2");
    state->splitter = Splitter::named(rule);
    state->takes_whole_words = rule == "llama-bpe" || rule == "llama3" || rule == "llama-v3";
    state->pairs.emplace(state->vocabulary, merges_of(file));
  } else {
    state->adds_space = flag(file, "add_space_prefix").value_or(true);
  }
  return Tokenizer(std::move(state));
}

Tokenizer Tokenizer::from_llama2c(const SharedBytes& file) {
  ByteReader reader(file.bytes);
  const auto longest = reader.little_endian<std::int32_t>();
  std::vector<Token> tokens;
  while (reader.remaining() != 0) {
    Token token;
    token.score = reader.little_endian<float>();
    const auto length = reader.little_endian<std::int32_t>();
    if (length < 0 || length > longest) {
      fail_format("token " + std::to_string(tokens.size()) + ": expected 0 to " +
                  std::to_string(longest) + " bytes, found " + std::to_string(length));
    }
    const auto bytes = reader.take(static_cast<std::size_t>(length));
    token.text = {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
    if (const auto byte = byte_named(token.text)) {
      token.text = *byte;
      token.kind = TokenKind::kByte;
    } else {
      token.text = replaced(token.text, " ", kSpaceSign);
    }
    tokens.push_back(std::move(token));
  }
  // The first three are <unk>, begin and end in every file of llama2.c.
  constexpr std::size_t kControls = 3;
  if (tokens.size() < kControls) fail_format("vocabulary: expected 3 tokens or more");
  tokens[0].kind = TokenKind::kUnknown;
  tokens[1].kind = tokens[2].kind = TokenKind::kControl;
  auto state = std::make_shared<State>(State{Vocabulary(std::move(tokens)), 1, 2, 0, true, true});
  return Tokenizer(std::move(state));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  check_utf8(text);
  const State& state = *state_;
  std::vector<TokenId> tokens;
  if (options.begin && state.adds_begin && state.begin != kNoToken) tokens.push_back(state.begin);
  bool is_first = true;
  std::size_t begin_of_text = 0;
  for (std::size_t at = 0; options.control && at < text.size();) {
    const TokenId special = state.vocabulary.special(text.substr(at), true);
    if (special == kNoToken || state.vocabulary.token(special).kind != TokenKind::kControl) {
      ++at;
      continue;
    }
    state.encode(text.substr(begin_of_text, at - begin_of_text), is_first, tokens);
    tokens.push_back(special);
    at += state.vocabulary.token(special).text.size();
    begin_of_text = at;
    is_first = true;  // a text begins anew
  }
  state.encode(text.substr(begin_of_text), is_first, tokens);
  return tokens;
}

std::string Tokenizer::text(TokenId token) const {
  const Token& found = state_->vocabulary.token(token);
  if (state_->pairs || found.kind == TokenKind::kByte) return found.text;
  return replaced(found.text, kSpaceSign, " ");
}

std::string Tokenizer::decode(std::span<const TokenId> tokens) const {
  std::string result;
  for (const TokenId token : tokens) {
    const TokenKind kind = state_->vocabulary.token(token).kind;
    if (kind != TokenKind::kControl && kind != TokenKind::kUnknown) result += text(token);
  }
  if (state_->adds_space && result.starts_with(' ')) result.erase(0, 1);
  return result;
}

const Vocabulary& Tokenizer::vocabulary() const { return state_->vocabulary; }
TokenId Tokenizer::begin() const { return state_->begin; }
TokenId Tokenizer::end() const { return state_->end; }

}  // namespace halftone::lm
