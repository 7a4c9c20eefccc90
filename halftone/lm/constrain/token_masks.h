// SPDX-License-Identifier: Apache-2.0
// Which tokens may follow a text that a grammar rules.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/constrain/acceptor.h"
#include "halftone/lm/text/tokenizer.h"

namespace halftone::lm {

/// The tokens of a model that have text, in the order of their bytes, so that those which begin
/// alike are read together. Any number of threads may use it.
class SortedTokens {
 public:
  /// @param is_first  their texts at the beginning of a text: see TextStream
  /// @param shown     control tokens with a text, which is their name
  explicit SortedTokens(const Tokenizer& tokenizer, bool is_first = false,
                        std::span<const TokenId> shown = {});

  struct Entry {
    TokenId id = 0;
    std::string bytes;
    std::size_t same = 0;  ///< bytes in front that the entry before has too
  };
  [[nodiscard]] const std::vector<Entry>& entries() const { return entries_; }
  /// The bytes of a token; empty where it has none.
  [[nodiscard]] std::string_view text(TokenId id) const;
  /// Of the vocabulary.
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  std::vector<Entry> entries_;
  std::vector<std::size_t> places_;  ///< by token, its entry; entries_.size(): none
  std::size_t size_;
};

/// By token, whether it may follow.
using TokenMask = std::vector<bool>;

/// The tokens after which an acceptor goes on.
TokenMask allowed_tokens(const SortedTokens& tokens, Acceptor& acceptor, Acceptor::State state);

}  // namespace halftone::lm
