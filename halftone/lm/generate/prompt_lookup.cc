// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/prompt_lookup.h"

#include <algorithm>
#include <bit>

namespace halftone::lm {
namespace {

/// Below this share of right guesses a run of two rows costs more than it saves.
constexpr double kLeastRight = 0.4;
/// Weight of the last token in a share.
constexpr double kLearningRate = 0.15;

}  // namespace

std::optional<PromptLookup::Match> PromptLookup::longest_match(std::span<const TokenId> text) {
  std::optional<Match> longest;
  for (std::size_t next = text.size(); next-- > 1;) {
    if (text[next - 1] != text.back()) continue;
    std::size_t same = 1;
    while (same < std::min(kMaxSame, next) &&
           text[next - 1 - same] == text[text.size() - 1 - same]) {
      ++same;
    }
    if (!longest || same > longest->same) longest = Match{same, next};
    if (same == kMaxSame) break;
  }
  return longest;
}

void PromptLookup::look(std::span<const TokenId> text) {
  if (match_) {
    double& right = right_[match_->same - 1];
    right += kLearningRate * ((text[match_->next] == text.back() ? 1.0 : 0.0) - right);
  }
  match_ = longest_match(text);
}

std::vector<TokenId> PromptLookup::guess(std::span<const TokenId> text,
                                         std::size_t max_tokens) const {
  std::vector<TokenId> guess;
  if (!match_ || right_[match_->same - 1] < kLeastRight) return guess;
  const double right = right_[match_->same - 1];
  double all_right = right;
  for (std::size_t at = match_->next; guess.size() < max_tokens && all_right >= kRowCost; ++at) {
    // What repeats itself goes on behind the end.
    guess.push_back(at < text.size() ? text[at] : guess[at - text.size()]);
    all_right *= right;
  }
  guess.resize(std::bit_floor(guess.size() + 1) - 1);
  return guess;
}

}  // namespace halftone::lm
