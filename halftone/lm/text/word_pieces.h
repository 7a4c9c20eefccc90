// SPDX-License-Identifier: Apache-2.0
// BERT's pieces of words, and whole words.
#pragma once

#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/text/word_model.h"

namespace halftone::lm {

struct WordPieceOptions {
  TokenId unknown = kNoToken;
  std::string first_prefix{};       ///< in front of the tokens that begin a word
  std::string continuing_prefix{};  ///< in front of the others
  std::size_t max_characters = std::numeric_limits<std::size_t>::max();  ///< longer is unknown
};

/// The longest token that a word begins with, then the longest one that its rest begins with. A
/// word is unknown as a whole. Source: WordpieceTokenizer of BERT's tokenization.py.
class WordPieces : public WordModel {
 public:
  /// @param vocabulary  is kept by reference
  WordPieces(const Vocabulary& vocabulary, WordPieceOptions options);
  void encode(std::string_view word, const AllowedTokens& allows,
              std::vector<TokenId>& tokens) const override;

 private:
  bool append_pieces(std::string_view word, const AllowedTokens& allows,
                     std::vector<TokenId>& tokens) const;

  const Vocabulary& vocabulary_;
  WordPieceOptions options_;
  std::size_t longest_ = 0;  ///< in bytes
};

/// Words that are tokens.
class WholeWordModel : public WordModel {
 public:
  /// @param vocabulary  is kept by reference
  WholeWordModel(const Vocabulary& vocabulary, TokenId unknown)
      : vocabulary_(vocabulary), unknown_(unknown) {}
  void encode(std::string_view word, const AllowedTokens& allows,
              std::vector<TokenId>& tokens) const override;

 private:
  const Vocabulary& vocabulary_;
  TokenId unknown_;
};

}  // namespace halftone::lm
