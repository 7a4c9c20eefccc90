// SPDX-License-Identifier: Apache-2.0
// Chooses the next token of a text.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

/// The steps, in the order of llama.cpp, each on the tokens that those before it have left:
///
///     1. repetition   the logit l of each of the last `repeat_window` tokens becomes
///                     l / repeat_penalty if l > 0, else l * repeat_penalty
///     2. top-k        the k tokens of the highest logits; of equal ones, the lowest ids
///     3. top-p        with probabilities softmax(l): the fewest of the highest ones whose sum is p
///                     or more
///     4. min-p        tokens that are at least min_p times as probable as the most probable one
///     5. temperature  l becomes l / temperature; a token is drawn with probability softmax(l)
///
/// Sources: Keskar et al. 2019 (arXiv:1909.05858), sec. 4.1, as llama.cpp computes it; Fan et al.,
/// ACL 2018 (arXiv:1805.04833); Holtzman et al., ICLR 2020 (arXiv:1904.09751); Nguyen et al., ICLR
/// 2025 (arXiv:2407.01082).
struct SamplingOptions {
  double temperature = 0;          ///< at least 0; 0: the highest logit
  std::size_t top_k = 40;          ///< 0: all
  double top_p = 0.95;             ///< above 0; 1: all
  double min_p = 0.05;             ///< 0 to 1; 0: all
  double repeat_penalty = 1;       ///< above 0; 1: none
  std::size_t repeat_window = 64;  ///< tokens
  std::uint64_t seed = 0;
};

/// A token that may be drawn.
struct TokenLogit {
  double logit = 0;
  TokenId id = 0;
};

/// Draws tokens. The same options and logits give the same tokens on every processor.
class Sampler {
 public:
  /// @throws Error kUsage if an option is out of range
  explicit Sampler(const SamplingOptions& options);

  /// Remembers a token of the text, for the repetition penalty. Those of a prompt count.
  void accept(TokenId token);
  /// @param logits  [vocabulary]; -infinity: never drawn
  /// @return        a token, which is not accepted yet
  /// @throws Error kUsage if a logit is NaN or +infinity, or all are -infinity: the model is broken
  [[nodiscard]] TokenId sample(std::span<const float> logits);

 private:
  void collect(std::span<const float> logits);
  void lower_repeated();

  SamplingOptions options_;
  Random random_;
  std::deque<TokenId> last_;
  std::vector<TokenLogit> candidates_;  ///< kept for its memory
};

/// The highest logit, of equal ones the lowest id. @throws Error as Sampler::sample()
TokenId greedy_token(std::span<const float> logits);

}  // namespace halftone::lm
