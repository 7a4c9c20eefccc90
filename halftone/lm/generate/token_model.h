// SPDX-License-Identifier: Apache-2.0
// What runs a language model, as the code that generates and measures text sees it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "halftone/lm/text/vocabulary.h"

namespace halftone::lm {

/// A step of computing a token.
struct TimedStep {
  std::string name;
  double seconds = 0;
};

/// How ranks would share the steps of computing a token.
struct RankCosts {
  /// By the name of a step: the part of it that the rank with most of it computes. Others have no
  /// part in less than all.
  std::map<std::string, double, std::less<>> shares{};
  std::vector<double> exchanged_bytes{};  ///< that all ranks have behind each exchange, in order
  double matrix_bytes = 0;                ///< of the rank with most of them
};

/// Behind which of some tokens logits are wanted.
enum class WantedLogits : std::uint8_t { kNone, kLast, kAll };

/// Tokens that a sequence is continued with.
struct SequencePart {
  std::size_t sequence = 0;
  std::span<const TokenId> tokens{};
  WantedLogits wanted = WantedLogits::kLast;
};

/// A model that continues sequences of tokens and remembers them. One thread at a time uses it.
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
  /// Appends tokens to each of several sequences, together where the model can.
  /// @return  the wanted logits in the order of the parts: [rows, vocabulary()]
  /// @throws Error as append(); kUsage if a sequence is named twice
  virtual std::vector<float> append_each(std::span<const SequencePart> parts) {
    std::vector<float> logits;
    for (const SequencePart& part : parts) {
      const std::vector<float> found =
          append(part.sequence, part.tokens, part.wanted == WantedLogits::kAll);
      if (part.wanted == WantedLogits::kNone) continue;
      logits.insert(logits.end(), found.begin(), found.end());
    }
    return logits;
  }
  /// Forgets all tokens from `length` on.
  /// @throws Error kUsage if the sequence is shorter
  virtual void truncate(std::size_t sequence, std::size_t length) = 0;
  /// Whether truncate() to any length leaves nothing to compute anew.
  [[nodiscard]] virtual bool truncates_freely() const { return true; }
  /// Makes a sequence the first `length` tokens of another one, without computing them.
  /// @pre     from != to
  /// @return  false if the model cannot: nothing has changed then
  /// @throws Error kUsage if there are no such sequences, or the other one is shorter; kMemory, and
  ///         the sequence is empty then
  virtual bool copy_front(std::size_t /*from*/, std::size_t /*to*/, std::size_t /*length*/) {
    return false;
  }

  /// Memory that copies of fronts would take, and do not while no sequence writes into them.
  [[nodiscard]] virtual std::size_t shared_bytes() const { return 0; }
  /// Bytes of weights and states that one more token reads behind `length` tokens; 0: not known.
  [[nodiscard]] virtual std::size_t bytes_per_token(std::size_t /*length*/) const { return 0; }

  /// Appends tokens to a sequence one by one, and measures the steps of each: medians over them.
  /// @return  in order of execution; empty: not known
  /// @throws Error as append()
  virtual std::vector<TimedStep> time_steps(std::size_t /*sequence*/,
                                            std::span<const TokenId> /*tokens*/) {
    return {};
  }
  /// How so many ranks would share a token. Nothing: not known.
  [[nodiscard]] virtual std::optional<RankCosts> costs_on_ranks(std::size_t /*ranks*/) const {
    return std::nullopt;
  }

  /// A smaller model with the same tokens and as many sequences, of which sequence i follows that
  /// of this one; see write_draft(). Null: none.
  [[nodiscard]] TokenModel* draft() const { return draft_.get(); }
  [[nodiscard]] double draft_cost() const { return draft_cost_; }
  /// @param cost  of a token of the draft, as a share of a token of this model
  void set_draft(std::unique_ptr<TokenModel> draft, double cost) {
    draft_ = std::move(draft);
    draft_cost_ = cost;
  }

 private:
  std::unique_ptr<TokenModel> draft_;
  double draft_cost_ = 0;
};

}  // namespace halftone::lm
