// SPDX-License-Identifier: Apache-2.0
// Makes a model write what a grammar allows.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <unordered_map>
#include <vector>

#include "halftone/lm/constrain/token_masks.h"

namespace halftone::lm {

/// The tokens of a model as constraints need them, shared by all texts. Any number of threads may
/// use it.
struct ConstraintTokens {
  explicit ConstraintTokens(const Tokenizer& tokenizer)
      : inside(tokenizer), first(tokenizer, true) {}
  SortedTokens inside;  ///< within a text
  SortedTokens first;   ///< of an answer: SentencePiece's first space is left out
};

/// What one text may be. Before each draw of a token, apply() lowers the logits of those that the
/// grammar does not allow to -infinity; so the others keep their relative probabilities.
/// One thread at a time uses it.
class Constraint {
 public:
  /// Masks are remembered by state up to this size.
  static constexpr std::size_t kMaxMaskBytes = std::size_t{32} << 20;

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
  [[nodiscard]] const SortedTokens& sorted() const {
    return is_begin_ ? tokens_->first : tokens_->inside;
  }

  std::shared_ptr<const ConstraintTokens> tokens_;
  std::vector<TokenId> end_tokens_;
  bool is_begin_;
  Acceptor acceptor_;
  Acceptor::State state_;
  std::unordered_map<Acceptor::State, TokenMask> masks_;  ///< within the text
  TokenMask first_mask_;
};

}  // namespace halftone::lm
