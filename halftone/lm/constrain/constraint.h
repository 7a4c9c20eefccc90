// SPDX-License-Identifier: Apache-2.0
// Makes a model write what a grammar allows.
#pragma once

#include <array>
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

/// A form that texts of a model may have: a grammar, with the states and masks that texts have met,
/// which others of the form find. Any number of threads may use it.
class TextForm {
 public:
  /// Masks are remembered by state up to this size.
  static constexpr std::size_t kMaxMaskBytes = std::size_t{16} << 20;

  /// @throws Error kUsage if the grammar is too ambiguous
  TextForm(std::shared_ptr<const Grammar> grammar, std::shared_ptr<const ConstraintTokens> tokens);

 private:
  friend class Constraint;
  /// States and masks. Several texts read it; none forgets what another may use.
  struct Reader {
    explicit Reader(Acceptor the_acceptor) : acceptor(std::move(the_acceptor)) {}
    std::mutex mutex{};
    Acceptor acceptor;
    /// Within a text; at its beginning.
    std::array<std::unordered_map<Acceptor::State, TokenMask>, 2> masks{};
  };

  [[nodiscard]] std::shared_ptr<Reader> reader();
  /// Begins anew for later texts, if this is what they would get.
  void drop(const std::shared_ptr<Reader>& full);

  std::shared_ptr<const Grammar> grammar_;
  std::shared_ptr<const ConstraintTokens> tokens_;
  std::mutex mutex_;
  std::shared_ptr<Reader> reader_;  // shared with texts in progress
};

/// What one text may be. Before each draw of a token, apply() lowers the logits of those that the
/// grammar does not allow to -infinity; so the others keep their relative probabilities.
/// One thread at a time uses it.
class Constraint {
 public:
  /// @param end_tokens  which the text may end with where the grammar allows it to end
  /// @param is_begin    the text is one of its own: an answer
  Constraint(std::shared_ptr<TextForm> form, std::vector<TokenId> end_tokens, bool is_begin);

  /// @param logits  of the next token, at least as many as tokens
  /// @throws Error kUnsupported if no token goes on; as Acceptor::after()
  void apply(std::span<float> logits);
  /// Goes on behind a token that was allowed; end tokens change nothing.
  void accept(TokenId token);
  /// Whether the text is whole and nothing may follow.
  [[nodiscard]] bool must_end() const;

 private:
  /// Lives as long as the text is at its state. @param may_end  gets whether it may end there
  const TokenMask& mask(bool& may_end);
  /// Leaves a full reader to others, or forgets what it has but the state.
  void make_room();
  [[nodiscard]] const SortedTokens& sorted() const { return form_->tokens_->sorted(is_begin_); }

  std::shared_ptr<TextForm> form_;  // shared by texts
  std::vector<TokenId> end_tokens_;
  bool is_begin_;
  std::shared_ptr<TextForm::Reader> reader_;  // shared by texts
  Acceptor::State state_;
};

}  // namespace halftone::lm
