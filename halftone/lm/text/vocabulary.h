// SPDX-License-Identifier: Apache-2.0
// The tokens of a language model.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "halftone/lm/text/text_index.h"
#include "halftone/types/language.hpp"

namespace halftone::lm {

using TokenId = v0::Token;
using v0::kNoToken;

/// By the numbers of GGUF.
enum class TokenKind : std::uint8_t {
  kNormal = 1,
  kUnknown = 2,
  kControl = 3,      ///< "<|im_start|>": no text
  kUserDefined = 4,  ///< found in text before anything else
  kUnused = 5,
  kByte = 6,  ///< "<0x0A>"
};

struct Token {
  std::string text;  ///< its bytes, of a byte token too
  float score = 0;   ///< higher ones are merged first
  TokenKind kind = TokenKind::kNormal;
  bool is_word = true;  ///< what words are looked up in has it
};

/// Tokens by id and by text.
class Vocabulary {
 public:
  /// @throws Error kFormat if there are none, or more than 2^24
  explicit Vocabulary(std::vector<Token> tokens);

  [[nodiscard]] std::size_t size() const { return tokens_.size(); }
  /// @throws Error kUsage if there is no such id
  [[nodiscard]] const Token& token(TokenId id) const;
  /// The first token of this text that words are looked up in, unused ones and bytes apart, control
  /// tokens last; kNoToken if there is none.
  [[nodiscard]] TokenId find(std::string_view text) const;
  /// The token of a byte; kNoToken if there is none.
  [[nodiscard]] TokenId byte(std::uint8_t value) const { return bytes_[value]; }
  /// The longest control or user-defined token that a text begins with; kNoToken if there is none.
  /// @param with_control  else user-defined tokens only
  [[nodiscard]] TokenId special(std::string_view text, bool with_control) const;
  /// The control token of this text; kNoToken if there is none.
  [[nodiscard]] TokenId control(std::string_view text) const;
  /// The token of this text, control tokens first, words or not; kNoToken if there is none.
  [[nodiscard]] TokenId named(std::string_view text) const;

 private:
  std::vector<Token> tokens_;
  std::unordered_map<std::string_view, TokenId> by_text_;
  std::array<TokenId, 256> bytes_{};
  TextIndex specials_;  ///< control and user-defined tokens
};

}  // namespace halftone::lm
