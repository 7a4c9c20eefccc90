// SPDX-License-Identifier: Apache-2.0
// Makes a model write what a grammar allows.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "halftone/lm/constrain/token_masks.h"

namespace halftone::lm {

/// The tokens of a model as constraints need them, shared by all texts. Any number of threads may
/// use it.
class ConstraintTokens {
 public:
  /// @param shown  control tokens with a text
  explicit ConstraintTokens(Tokenizer tokenizer, std::vector<TokenId> shown = {})
      : tokenizer_(std::move(tokenizer)), shown_(std::move(shown)) {}
  /// Made when they are first asked for.
  /// @param is_first  of an answer: SentencePiece's first space is left out
  [[nodiscard]] const SortedTokens& sorted(bool is_first) const {
    Sorted& sorted = is_first ? first_ : inside_;
    std::call_once(sorted.once, [&] { sorted.tokens.emplace(tokenizer_, is_first, shown_); });
    return *sorted.tokens;
  }

 private:
  struct Sorted {
    std::once_flag once{};
    std::optional<SortedTokens> tokens{};
  };
  Tokenizer tokenizer_;
  std::vector<TokenId> shown_;
  mutable Sorted inside_;
  mutable Sorted first_;
};

/// What one text may be. Before each draw of a token, apply() lowers the logits of those that the
/// grammar does not allow to -infinity; so the others keep their relative probabilities.
/// One thread at a time uses it.
class Constraint {
 public:
  /// Masks are remembered by state up to this size.
  static constexpr std::size_t kMaxMaskBytes = std::size_t{16} << 20;

  /// @param end_tokens  which the text may end with where the grammar allows it to end
  /// @param is_begin    the text is one of its own: an answer
  /// @throws Error kUsage if the grammar is too ambiguous
  Constraint(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const ConstraintTokens> tokens,
             std::vector<TokenId> end_tokens, bool is_begin);

  /// @param logits  of the next token, at least as many as tokens
  /// @throws Error kUnsupported if no token goes on; as Acceptor::after()
  void apply(std::span<float> logits);
  /// Goes on behind a token that was allowed; end tokens change nothing.
  void accept(TokenId token);
  /// Whether the text is whole and nothing may follow.
  [[nodiscard]] bool must_end() const { return acceptor_.must_end(state_); }

 private:
  const TokenMask& mask();
  [[nodiscard]] const SortedTokens& sorted() const { return tokens_->sorted(is_begin_); }

  std::shared_ptr<const ConstraintTokens> tokens_;
  std::vector<TokenId> end_tokens_;
  bool is_begin_;
  Acceptor acceptor_;
  Acceptor::State state_;
  std::unordered_map<Acceptor::State, TokenMask> masks_;  ///< within the text
  TokenMask first_mask_;
};

}  // namespace halftone::lm
