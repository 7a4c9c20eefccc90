// SPDX-License-Identifier: Apache-2.0
// What turns words into tokens.
#pragma once

#include <string_view>
#include <vector>

#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

/// Which tokens a text may become. A text of someone else's never becomes control tokens.
class AllowedTokens {
 public:
  AllowedTokens() = default;
  /// @param forbidden  by id; kept by reference. Null: all are allowed
  explicit AllowedTokens(const std::vector<bool>* forbidden) : forbidden_(forbidden) {}
  bool operator()(TokenId token) const {
    return token == kNoToken || forbidden_ == nullptr ||
           !(*forbidden_)[static_cast<std::size_t>(token)];
  }
  /// The token where it is allowed, else kNoToken.
  [[nodiscard]] TokenId checked(TokenId token) const { return (*this)(token) ? token : kNoToken; }

 private:
  const std::vector<bool>* forbidden_ = nullptr;
};

/// Any number of threads may use one.
class WordModel {
 public:
  WordModel() = default;
  WordModel(const WordModel&) = delete;
  WordModel& operator=(const WordModel&) = delete;
  virtual ~WordModel() = default;
  /// Appends the tokens of a word.
  /// @param word  UTF-8, not empty
  /// @throws Error kFormat if the vocabulary has neither tokens for it nor an unknown one
  virtual void encode(std::string_view word, const AllowedTokens& allows,
                      std::vector<TokenId>& tokens) const = 0;
};

}  // namespace halftone::lm
