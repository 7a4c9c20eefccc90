// SPDX-License-Identifier: Apache-2.0
// SentencePiece's byte pair encoding.
#pragma once

#include <string_view>
#include <vector>

#include "halftone/lm/text/word_model.h"

namespace halftone::lm {

/// While two neighbours together are a token, the pair of the highest score, and of equal ones the
/// first, becomes one. It begins with characters. What is no token in the end becomes its bytes, or
/// the unknown token where bytes have none.
/// Source: Kudo, Richardson, EMNLP 2018 (arXiv:1808.06226), and bpe_model.cc of SentencePiece.
class ScoredPairs : public WordModel {
 public:
  /// @param vocabulary  with U+2581 in place of spaces; is kept by reference
  ScoredPairs(const Vocabulary& vocabulary, TokenId unknown)
      : vocabulary_(vocabulary), unknown_(unknown) {}
  void encode(std::string_view word, const AllowedTokens& allows,
              std::vector<TokenId>& tokens) const override;

 private:
  const Vocabulary& vocabulary_;
  TokenId unknown_;
};

}  // namespace halftone::lm
