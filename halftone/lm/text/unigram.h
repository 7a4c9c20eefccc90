// SPDX-License-Identifier: Apache-2.0
// SentencePiece's unigram model.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "halftone/lm/text/text_index.h"
#include "halftone/lm/text/word_model.h"

namespace halftone::lm {

struct UnigramOptions {
  TokenId unknown = kNoToken;
  bool falls_back_to_bytes = false;  ///< what has no token becomes tokens of bytes
};

/// Of all ways to write a word as tokens the one with the highest sum of scores. A character
/// without a token counts 10 less than the lowest score; several side by side are one part, which
/// becomes a token of its text, bytes, or the unknown token.
/// Source: Kudo, ACL 2018 (arXiv:1804.10959), and unigram_model.cc of SentencePiece.
class Unigram : public WordModel {
 public:
  /// @param scores      by id
  /// @param entries     the texts that are found in words, with their ids
  /// @param min_score   the lowest
  /// @param vocabulary  has the bytes; is kept by reference
  Unigram(const Vocabulary& vocabulary, std::vector<double> scores,
          std::vector<TextIndex::Entry> entries, double min_score, UnigramOptions options);

  void encode(std::string_view word, const AllowedTokens& allows,
              std::vector<TokenId>& tokens) const override;

 private:
  struct Node;
  [[nodiscard]] std::vector<Node> best_paths(std::string_view word,
                                             const AllowedTokens& allows) const;
  void append_unknown(std::string_view text, const AllowedTokens& allows,
                      std::vector<TokenId>& tokens) const;

  const Vocabulary& vocabulary_;
  std::vector<double> scores_;
  TextIndex index_;
  double unknown_score_;
  UnigramOptions options_;
};

}  // namespace halftone::lm
