// SPDX-License-Identifier: Apache-2.0
// Guesses what a model writes by what a smaller one would.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include "halftone/lm/generate/token_model.h"

namespace halftone::lm {

class Continuation;

/// How many tokens of a draft are worth a guess. It learns how often they are right: more after
/// hits, and after misses none for a while.
///
/// If a token is right with probability p, a run of n guesses writes 1 + p + ... + p^n tokens, and
/// takes 1 + n (kRowCost + c) times as long as one without, where c is the cost of a token of the
/// draft. The length is the n of the highest quotient (Leviathan et al. 2023, arXiv:2211.17192,
/// theorem 3.8, with a price for the rows of the model).
class DraftLength {
 public:
  /// @param cost  of a token of the draft, as a share of a token of the model
  explicit DraftLength(double cost) : cost_(cost) {}

  /// Of few lengths: 0, 1, 3, 7, 15.
  [[nodiscard]] std::size_t length(std::size_t max_tokens) const;
  /// Learns from guesses. Those behind the first wrong one say nothing.
  void learn(std::size_t guessed, std::size_t right);
  /// Tells that a token was written.
  void pass() { pause_ -= pause_ > 0 ? 1 : 0; }

 private:
  [[nodiscard]] std::size_t best(std::size_t max_tokens) const;

  double cost_;
  double right_ = 0.7;     ///< share of tokens that were right: of late ones most
  std::size_t pause_ = 0;  ///< tokens to write before the next try
};

/// A text that is drafted.
struct DraftPart {
  std::size_t sequence = 0;  ///< of the draft and of the model
  const Continuation* text = nullptr;
  std::size_t max_tokens = 0;
};

/// Tokens that may follow texts: what they would draw, with their seeds, from the logits of a
/// draft. It reads what it does not have of the texts; all in runs that they share.
/// @param draft     with a sequence for each of the texts
/// @param max_read  tokens to read at most: a text that needs more gets no guesses yet
/// @return          by part; empty where no guess is worth its price or the draft has no room
/// @throws Error as TokenModel::append_each() and Sampler::sample()
std::vector<std::vector<TokenId>> write_draft(
    TokenModel& draft, std::span<const DraftPart> parts,
    std::size_t max_read = std::numeric_limits<std::size_t>::max());

}  // namespace halftone::lm
