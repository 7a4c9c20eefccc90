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

[[noreturn]] void fail_format(const std::string& message) { fail(ErrorKind::kFormat, message); }

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
