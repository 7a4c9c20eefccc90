// SPDX-License-Identifier: Apache-2.0
// What runs a language model, as the code that generates and measures text sees it.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

/// A model that continues sequences of tokens and remembers them. One thread at a time uses it.
/// A step of computing a token.
struct TimedStep {
  std::string name;
  double seconds = 0;
};

class TokenModel {
 public:
  TokenModel() = default;
  TokenModel(const TokenModel&) = delete;
  TokenModel& operator=(const TokenModel&) = delete;
  virtual ~TokenModel() = default;

  /// Number of tokens that it tells apart: those of its tokenizer, and perhaps unused ones.
  [[nodiscard]] virtual std::size_t vocabulary() const = 0;
  /// Number of tokens that a sequence may have.
  [[nodiscard]] virtual std::size_t context() const = 0;
  /// Number of sequences that it remembers.
  [[nodiscard]] virtual std::size_t sequences() const = 0;
  /// The tokens of a sequence. @pre sequence < sequences()
  [[nodiscard]] virtual std::span<const TokenId> tokens(std::size_t sequence) const = 0;
  /// Number of tokens of a sequence. @pre sequence < sequences()
  [[nodiscard]] std::size_t length(std::size_t sequence) const { return tokens(sequence).size(); }

  /// Appends tokens to a sequence.
  /// @param all_logits  else those behind the last token only
  /// @return            logits of the token that follows each: [rows, vocabulary()]
  /// @throws Error      kUsage if there is no such sequence or token, or the context is too small;
  ///                    the sequence is then as it was
  virtual std::vector<float> append(std::size_t sequence, std::span<const TokenId> tokens,
                                    bool all_logits) = 0;
  /// Forgets all tokens from `length` on.
  /// @throws Error kUsage if the sequence is shorter
  virtual void truncate(std::size_t sequence, std::size_t length) = 0;

  /// Bytes of weights and states that one more token reads behind `length` tokens; 0: not known.
  [[nodiscard]] virtual std::size_t bytes_per_token(std::size_t /*length*/) const { return 0; }

  /// Appends tokens to a sequence one by one, and measures the steps of each: medians over them.
  /// @return  in order of execution; empty: not known
  /// @throws Error as append()
  virtual std::vector<TimedStep> time_steps(std::size_t /*sequence*/,
                                            std::span<const TokenId> /*tokens*/) {
    return {};
  }
};

}  // namespace halftone::lm
