// SPDX-License-Identifier: Apache-2.0
// Byte pair encoding.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "halftone/lm/text/word_model.h"

namespace halftone::lm {

/// Words that are not split, where they are tokens.
enum class WholeWords : std::uint8_t { kNone, kLineFeeds, kAll };

struct BytePairOptions {
  bool has_bytes = true;  ///< words are merged from bytes, else from characters
  WholeWords whole_words = WholeWords::kNone;
  TokenId unknown = kNoToken;        ///< of what has no token; kNoToken: it is left out
  bool names_unknown = false;        ///< a model names one: what has no token needs it
  bool last_rank_counts = false;     ///< of a pair with several ranks, else the first one
  bool fuses_unknown = false;        ///< one for several side by side
  bool falls_back_to_bytes = false;  ///< a character without a token becomes tokens of bytes
  std::string continuing_prefix{};   ///< in front of what does not begin a word
  std::string end_suffix{};          ///< behind what ends a word
};

/// Merges the bytes or characters of a word: while two neighbours have a rank, the pair of the
/// lowest one, and of equal ones the first, becomes one token.
/// Source: Sennrich et al., ACL 2016 (arXiv:1508.07909), on bytes: Radford et al. 2019 (GPT-2);
/// options: model BPE of the package tokenizers.
class BytePairs : public WordModel {
 public:
  /// @param merges  pairs of texts, in the order of their ranks: their bytes, not the characters
  ///                that represent them in files
  /// @param vocabulary  is kept by reference
  /// @throws Error kFormat if a part or the result of a merge is no token
  BytePairs(const Vocabulary& vocabulary,
            const std::vector<std::pair<std::string, std::string>>& merges,
            BytePairOptions options = {});

  void encode(std::string_view word, const AllowedTokens& allows,
              std::vector<TokenId>& tokens) const override;

  /// The pairs of tokens, in the order of their ranks.
  [[nodiscard]] std::vector<std::pair<TokenId, TokenId>> merges() const;
  [[nodiscard]] const BytePairOptions& options() const { return options_; }

 private:
  struct Merge {
    std::uint32_t rank = 0;
    TokenId result = kNoToken;
  };
  class Word;
  [[nodiscard]] const Merge* find(TokenId left, TokenId right) const;
  [[nodiscard]] bool is_whole(std::string_view word) const;
  /// The tokens that a word is merged from.
  [[nodiscard]] std::vector<TokenId> units(std::string_view word,
                                           const AllowedTokens& allows) const;
  [[nodiscard]] TokenId unit(std::string_view text, bool is_first, bool is_last) const;
  /// With the prefix and the suffix.
  [[nodiscard]] std::string marked(std::string_view text, bool is_first, bool is_last) const;
  /// Appends the tokens of the bytes of a text, if there are such tokens.
  bool add_bytes(const std::string& text, std::vector<TokenId>& units) const;

  const Vocabulary& vocabulary_;
  BytePairOptions options_;
  std::array<TokenId, 256> bytes_{};
  std::unordered_map<std::uint64_t, Merge> merges_;  ///< by both tokens
};

/// The characters that represent bytes in files of byte-level tokens: those of Latin-1 that are
/// printed represent themselves, the others are U+0100 and up. Source: GPT-2's encoder.py.
/// @return  the bytes; nothing if a character means none
std::optional<std::string> bytes_named_by(std::string_view text);
/// The same, or the text itself.
std::string bytes_from_characters(std::string_view text);
/// The characters that represent the bytes of a text.
std::string characters_from_bytes(std::string_view bytes);

}  // namespace halftone::lm
