// SPDX-License-Identifier: Apache-2.0
// Guesses how a text goes on.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

/// What a further row of a run costs, as a share of a run of one row.
inline constexpr double kRowCost = 0.12;

/// Guesses that a text goes on as it did where its last three, two or one tokens were before. It
/// learns from each token how often a guess of each kind would have been right, and guesses as
/// many tokens as are worth a row of a run: more after hits, none after misses.
/// Source: Saxena, Prompt Lookup Decoding, 2023; the lengths are ours.
class PromptLookup {
 public:
  /// Looks for the end of a text in front of it, and learns from its last token.
  /// @param text  the whole one, with one more token than before except for the first time
  void look(std::span<const TokenId> text);
  /// The tokens that may follow, in numbers of which there are few: 1, 3, 7, 15, ...
  /// @param text  that look() has seen
  [[nodiscard]] std::vector<TokenId> guess(std::span<const TokenId> text,
                                           std::size_t max_tokens) const;

 private:
  static constexpr std::size_t kMaxSame = 3;

  struct Match {
    std::size_t same = 0;  ///< tokens in front of `next` that are those at the end
    std::size_t next = 0;  ///< index of a token
  };
  /// The longest one; of equal ones the last.
  static std::optional<Match> longest_match(std::span<const TokenId> text);

  std::optional<Match> match_;
  /// Share of matches whose next token was right, by Match::same - 1: of late ones most.
  std::array<double, kMaxSame> right_ = {0.1, 0.3, 0.5};
};

}  // namespace halftone::lm
