// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/constraint.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::lm {

Constraint::Constraint(std::shared_ptr<const Grammar> grammar,
                       std::shared_ptr<const ConstraintTokens> tokens,
                       std::vector<TokenId> end_tokens, bool is_begin)
    : tokens_(std::move(tokens)),
      end_tokens_(std::move(end_tokens)),
      is_begin_(is_begin),
      acceptor_(std::move(grammar)),
      state_(acceptor_.start()) {}

const TokenMask& Constraint::mask() {
  if (is_begin_) {
    if (first_mask_.empty()) first_mask_ = allowed_tokens(sorted(), acceptor_, state_);
    return first_mask_;
  }
  const std::size_t max_masks = kMaxMaskBytes / (sorted().size() / 8 + 1) + 1;
  if (acceptor_.is_full() || masks_.size() >= max_masks) {
    masks_.clear();
    state_ = acceptor_.forget_but(state_);
  }
  const auto found = masks_.find(state_);
  if (found != masks_.end()) return found->second;
  return masks_.emplace(state_, allowed_tokens(sorted(), acceptor_, state_)).first->second;
}

void Constraint::apply(std::span<float> logits) {
  const TokenMask& allowed = mask();
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  std::vector<std::pair<std::size_t, float>> ends;
  for (const TokenId token : end_tokens_) {
    const auto i = static_cast<std::size_t>(token);
    if (acceptor_.may_end(state_) && i < logits.size()) ends.emplace_back(i, logits[i]);
  }
  bool has_any = !ends.empty();
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const bool is_allowed = i < allowed.size() && allowed[i];
    if (!is_allowed) logits[i] = kNever;
    has_any = has_any || is_allowed;
  }
  for (const TokenId token : end_tokens_) {  // an end token with a text is no text here
    const auto i = static_cast<std::size_t>(token);
    if (i < logits.size()) logits[i] = kNever;
  }
  for (const auto& [i, logit] : ends) logits[i] = logit;
  if (has_any) return;
  fail(ErrorKind::kUnsupported,
       "grammar: expected a token of the model that goes on with the text, found none");
}

void Constraint::accept(TokenId token) {
  if (std::ranges::count(end_tokens_, token) > 0) return;
  for (const char byte : sorted().text(token)) {
    state_ = acceptor_.after(state_, static_cast<std::uint8_t>(byte));
  }
  is_begin_ = false;
}

}  // namespace halftone::lm
