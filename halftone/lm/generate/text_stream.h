// SPDX-License-Identifier: Apache-2.0
// The text of tokens as they come.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halftone/lm/text/tokenizer.h"

namespace halftone::lm {

/// What ends a text, and what is none of it.
struct StopRules {
  std::vector<TokenId> tokens{};     ///< they have no text
  std::vector<std::string> texts{};  ///< the text ends in front of the first of them
  /// Control tokens with a text, which is their name; others have none.
  std::vector<TokenId> shown{};
};

enum class StopReason : std::uint8_t { kNone, kToken, kText };

/// Turns tokens into pieces of text. A piece ends between two characters, and never within what may
/// become a stop text. Bytes that are no UTF-8 become U+FFFD: one for each longest sequence that
/// begins a character, as Unicode recommends (and Python decodes).
class TextStream {
 public:
  /// @param is_begin  whether the text is one of its own: SentencePiece's first space is left out
  TextStream(Tokenizer tokenizer, StopRules rules, bool is_begin = false);

  /// @return  the text that is certain now; empty after the end
  /// @throws Error kUsage if there is no such token
  std::string push(TokenId token);
  /// The rest, where no more tokens come.
  std::string finish();
  [[nodiscard]] StopReason stop_reason() const { return reason_; }

 private:
  [[nodiscard]] std::string text_of(TokenId token);
  void move_characters(bool is_end);

  Tokenizer tokenizer_;
  StopRules rules_;
  bool is_begin_;
  std::string bytes_;  ///< that are no whole character yet
  std::string text_;   ///< characters that may begin a stop text
  StopReason reason_ = StopReason::kNone;
};

}  // namespace halftone::lm
