// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/tokenizer.h"

#include <charconv>
#include <optional>
#include <utility>

#include "halftone/base/byte_reader.h"
#include "halftone/base/error.h"
#include "halftone/lm/text/encoding.h"
#include "halftone/lm/text/scored_pairs.h"
#include "halftone/lm/text/tokenizer_state.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {

std::optional<char> byte_named(std::string_view text) {
  if (text.size() != 6 || !text.starts_with("<0x") || text.back() != '>') return std::nullopt;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data() + 3, text.data() + 5, value, 16);
  if (error != std::errc() || end != text.data() + 5) return std::nullopt;
  return static_cast<char>(value);
}

std::string name_of_byte(std::uint8_t byte) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  return {'<', '0', 'x', kDigits[byte / 16], kDigits[byte % 16], '>'};
}

Tokenizer::State::State(Vocabulary tokens) : vocabulary(std::move(tokens)) {
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    is_control.push_back(vocabulary.token(static_cast<TokenId>(i)).kind == TokenKind::kControl);
  }
}

void set_sentence_pieces(Tokenizer::State& state, bool adds_space) {
  const std::string sign(kSpaceSign);
  if (adds_space) state.normalizer.add(normalizer_step::prepend(" "));
  state.normalizer.add(normalizer_step::replace_text(" ", sign));
  state.model = std::make_unique<ScoredPairs>(state.vocabulary, state.unknown);
  state.decoder.add(decoder_step::replace_text(sign, " "));
  if (adds_space) state.decoder.add(decoder_step::strip_front(" ", 1, true));
  state.gguf_name = {GgufName::Kind::kScores, adds_space, {}};
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
      fail(ErrorKind::kFormat, "token " + std::to_string(tokens.size()) + ": expected 0 to " +
                                   std::to_string(longest) + " bytes, found " +
                                   std::to_string(length));
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
  if (tokens.size() < kControls) fail(ErrorKind::kFormat, "vocabulary: expected 3 tokens or more");
  tokens[0].kind = TokenKind::kUnknown;
  tokens[1].kind = tokens[2].kind = TokenKind::kControl;
  auto state = std::make_shared<State>(Vocabulary(std::move(tokens)));
  state->begin = 1;
  state->end = 2;
  state->unknown = 0;
  state->front = {1};
  state->added = AddedTokens(
      {{1, state->vocabulary.token(1).text, true}, {2, state->vocabulary.token(2).text, true}},
      AddedTokens::Order::kFirst);
  set_sentence_pieces(*state, true);
  return Tokenizer(std::move(state));
}

std::vector<TokenId> Tokenizer::encode(std::string_view text, const EncodeOptions& options) const {
  check_utf8(text);
  const State& state = *state_;
  std::vector<TokenId> tokens;
  if (options.begin) tokens = state.front;
  append_tokens(state, text, options, tokens);
  if (options.end) tokens.insert(tokens.end(), state.back.begin(), state.back.end());
  if (state.max_tokens && tokens.size() > *state.max_tokens) {
    fail(ErrorKind::kUnsupported,
         "tokenizer.json: 'truncation': expected null or texts of at most " +
             std::to_string(*state.max_tokens) + " tokens, found one of " +
             std::to_string(tokens.size()));
  }
  return tokens;
}

std::string Tokenizer::State::text_of(const Token& token, bool is_begin) const {
  const bool has_name = token.kind == TokenKind::kByte && shows_byte_names;
  std::string text = has_name ? name_of_byte(static_cast<std::uint8_t>(token.text[0])) : token.text;
  decoder.apply(text, is_begin);
  return text;
}

std::string Tokenizer::text(TokenId token) const {
  const Token& found = state_->vocabulary.token(token);
  return found.kind == TokenKind::kControl ? found.text : state_->text_of(found, false);
}

std::string Tokenizer::decode(std::span<const TokenId> tokens) const {
  std::string result;
  bool is_begin = true;
  for (const TokenId token : tokens) {
    const Token& found = state_->vocabulary.token(token);
    if (found.kind == TokenKind::kControl || found.kind == TokenKind::kUnknown) continue;
    result += state_->text_of(found, is_begin);
    is_begin = false;
  }
  return result;
}

const Vocabulary& Tokenizer::vocabulary() const { return state_->vocabulary; }
TokenId Tokenizer::begin() const { return state_->begin; }
TokenId Tokenizer::end() const { return state_->end; }
const std::string& Tokenizer::warning() const { return state_->warning; }

}  // namespace halftone::lm
