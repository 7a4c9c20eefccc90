// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/vocabulary.h"

#include <algorithm>

#include "halftone/base/error.h"

namespace halftone::lm {

Vocabulary::Vocabulary(std::vector<Token> tokens) : tokens_(std::move(tokens)) {
  constexpr std::size_t kMaxTokens = std::size_t{1} << 24;
  if (tokens_.empty() || tokens_.size() > kMaxTokens) {
    fail(ErrorKind::kFormat,
         "vocabulary: expected 1 to 2^24 tokens, found " + std::to_string(tokens_.size()));
  }
  bytes_.fill(kNoToken);
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    const Token& token = tokens_[i];
    const auto id = static_cast<TokenId>(i);
    const bool is_special =
        token.kind == TokenKind::kControl || token.kind == TokenKind::kUserDefined;
    if (token.kind == TokenKind::kByte && token.text.size() == 1) {
      bytes_[static_cast<std::uint8_t>(token.text[0])] = id;
    } else if (token.kind != TokenKind::kControl && token.kind != TokenKind::kUnused) {
      by_text_.emplace(token.text, id);
    }
    if (is_special && !token.text.empty()) {
      specials_[static_cast<std::uint8_t>(token.text[0])].push_back(id);
    }
  }
  for (std::vector<TokenId>& list : specials_) {
    std::ranges::stable_sort(list, std::greater(), [&](TokenId id) {
      return tokens_[static_cast<std::size_t>(id)].text.size();
    });
  }
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
  if (text.empty()) return kNoToken;
  for (const TokenId id : specials_[static_cast<std::uint8_t>(text[0])]) {
    const Token& token = tokens_[static_cast<std::size_t>(id)];
    if (token.kind == TokenKind::kControl && !with_control) continue;
    if (text.starts_with(token.text)) return id;
  }
  return kNoToken;
}

TokenId Vocabulary::control(std::string_view text) const {
  const TokenId found = special(text, true);
  const bool is_control = found != kNoToken && token(found).kind == TokenKind::kControl;
  return is_control && token(found).text == text ? found : kNoToken;
}

}  // namespace halftone::lm
