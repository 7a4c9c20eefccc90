// SPDX-License-Identifier: Apache-2.0
// Chooses the next token of a text.
#pragma once

#include <cstddef>
#include <deque>
#include <map>
#include <span>
#include <vector>

#include "halftone/base/random.h"
#include "halftone/lm/text/vocabulary.h"
#include "halftone/types/language.hpp"

namespace halftone::lm {

/// The steps have the order of llama.cpp. Of equal logits the lowest ids are the highest.
/// Sources: Keskar et al. 2019 (arXiv:1909.05858), sec. 4.1, as llama.cpp computes it; Fan et al.,
/// ACL 2018 (arXiv:1805.04833); Holtzman et al., ICLR 2020 (arXiv:1904.09751); Nguyen et al., ICLR
/// 2025 (arXiv:2407.01082).
using v0::SamplingOptions;

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

  /// Remembers a token of the text, for the penalties.
  /// @param is_written  else of the prompt, which the repetition penalty counts alone
  void accept(TokenId token, bool is_written = true);
  /// @param logits  [vocabulary]; -infinity: never drawn
  /// @return        a token, which is not accepted yet
  /// @throws Error kUsage if a logit is NaN or +infinity, or all are -infinity: the model is broken
  [[nodiscard]] TokenId sample(std::span<const float> logits);

 private:
  /// Whether logits are compared as they are.
  [[nodiscard]] bool changes_nothing() const;
  void collect(std::span<const float> logits);
  /// Changes the logit of a token, if it may be drawn.
  template <typename Change>
  void change(TokenId token, const Change& changed);
  void add_biases();
  void lower_repeated();
  void lower_written();

  SamplingOptions options_;
  Random random_;
  std::deque<TokenId> last_;
  std::map<TokenId, std::size_t> written_;  ///< how often, if that matters
  std::vector<TokenLogit> candidates_;      ///< kept for its memory
};

/// The highest logit, of equal ones the lowest id. @throws Error as Sampler::sample()
TokenId greedy_token(std::span<const float> logits);

}  // namespace halftone::lm
