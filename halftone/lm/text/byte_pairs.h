// SPDX-License-Identifier: Apache-2.0
// Byte-level byte pair encoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

/// Merges the bytes of a word: while two neighbours have a rank, the pair of the lowest one, and of
/// equal ones the first, becomes one token.
/// Source: Sennrich et al., ACL 2016 (arXiv:1508.07909), on bytes: Radford et al. 2019 (GPT-2).
class BytePairs {
 public:
  /// @param merges  pairs of texts, in the order of their ranks: their bytes, not the characters
  /// that
  ///                stand for them in files
  /// @throws Error kFormat if a part or the result of a merge is no token
  BytePairs(const Vocabulary& vocabulary,
            const std::vector<std::pair<std::string, std::string>>& merges);

  /// Appends the tokens of a word. Bytes without a token are left out, as the packages do with
  /// which models are trained: some lack control characters.
  void encode(std::string_view word, std::vector<TokenId>& tokens) const;

  /// The pairs of tokens, in the order of their ranks.
  [[nodiscard]] std::vector<std::pair<TokenId, TokenId>> merges() const;

 private:
  struct Merge {
    std::uint32_t rank = 0;
    TokenId result = kNoToken;
  };
  [[nodiscard]] const Merge* find(TokenId left, TokenId right) const;

  std::array<TokenId, 256> bytes_{};
  std::unordered_map<std::uint64_t, Merge> merges_;  ///< by both tokens
};

/// The characters that stand for bytes in files of byte-level tokens: those of Latin-1 that are
/// printed stand for themselves, the others are U+0100 and up. Source: GPT-2's encoder.py.
/// @return  the bytes; the text itself if a character stands for none
std::string bytes_from_characters(std::string_view text);
/// The characters that stand for the bytes of a text.
std::string characters_from_bytes(std::string_view bytes);

}  // namespace halftone::lm
