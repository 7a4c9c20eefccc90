// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/vocabulary.h"

#include <utility>

#include "halftone/base/error.h"

namespace halftone::lm {

Vocabulary::Vocabulary(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  constexpr std::size_t kMaxTokens = std::size_t{1} << 24;
  if (tokens_.empty() || tokens_.size() > kMaxTokens) {
    fail(ErrorKind::kFormat,
         "vocabulary: expected 1 to 2^24 tokens, found " + std::to_string(tokens_.size()));
  }
  bytes_.fill(kNoToken);
  std::vector<TextIndex::Entry> specials;
  for (const bool has_controls : {false, true}) {
    for (std::size_t i = 0; i < tokens_.size(); ++i) {
      const Token& token = tokens_[i];
      const auto id = static_cast<TokenId>(i);
      const bool is_control = token.kind == TokenKind::kControl;
      if (is_control != has_controls) continue;
      if (is_control || token.kind == TokenKind::kUserDefined) specials.push_back({token.text, id});
      if (token.kind == TokenKind::kByte && token.text.size() == 1) {
        bytes_[static_cast<std::uint8_t>(token.text[0])] = id;
      } else if (token.kind != TokenKind::kUnused && token.is_word) {
        by_text_.emplace(token.text, id);
      }
    }
  }
  specials_ = TextIndex(std::move(specials));
}

const Token& Vocabulary::token(TokenId id) const {
  if (id < 0 || static_cast<std::size_t>(id) >= tokens_.size()) {
    fail(ErrorKind::kUsage, "token: expected 0 to " + std::to_string(tokens_.size() - 1) +
                                ", found " + std::to_string(id));
  }
  return tokens_[static_cast<std::size_t>(id)];
}

TokenId Vocabulary::find(std::string_view text) const {
  const auto found = by_text_.find(text);
  return found == by_text_.end() ? kNoToken : found->second;
}

TokenId Vocabulary::special(std::string_view text, bool with_control) const {
  TokenId found = kNoToken;
  specials_.for_each_prefix(text, [&](std::size_t, TokenId id) {
    if (with_control || token(id).kind != TokenKind::kControl) found = id;
  });
  return found;
}

TokenId Vocabulary::control(std::string_view text) const {
  const TokenId found = special(text, true);
  const bool is_control = found != kNoToken && token(found).kind == TokenKind::kControl;
  return is_control && token(found).text == text ? found : kNoToken;
}

TokenId Vocabulary::named(std::string_view text) const {
  const TokenId found = special(text, true);
  return found != kNoToken && token(found).text == text ? found : find(text);
}

}  // namespace halftone::lm
