// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/constrain/constraint.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::lm {

TextForm::TextForm(std::shared_ptr<const Grammar> grammar,
                   std::shared_ptr<const ConstraintTokens> tokens)
    : grammar_(std::move(grammar)),
      tokens_(std::move(tokens)),
      reader_(std::make_shared<Reader>(Acceptor(grammar_))) {}

std::shared_ptr<TextForm::Reader> TextForm::reader() {
  const std::lock_guard lock(mutex_);
  return reader_;
}

void TextForm::drop(const std::shared_ptr<Reader>& full) {
  const std::lock_guard lock(mutex_);
  if (reader_ == full) reader_ = std::make_shared<Reader>(Acceptor(grammar_));
}

Constraint::Constraint(std::shared_ptr<TextForm> form, std::vector<TokenId> end_tokens,
                       bool is_begin)
    : form_(std::move(form)),
      end_tokens_(std::move(end_tokens)),
      is_begin_(is_begin),
      reader_(form_->reader()),
      state_(reader_->acceptor.start()) {}

void Constraint::make_room() {
  form_->drop(reader_);
  if (reader_.use_count() > 1) {
    const std::lock_guard lock(reader_->mutex);
    reader_ = std::make_shared<TextForm::Reader>(reader_->acceptor);
  }
  for (auto& masks : reader_->masks) masks.clear();
  state_ = reader_->acceptor.forget_but(state_);
}

const TokenMask& Constraint::mask(bool& may_end) {
  const std::size_t max_masks = TextForm::kMaxMaskBytes / (sorted().size() / 8 + 1) + 1;
  const auto is_full = [&] {
    const std::lock_guard lock(reader_->mutex);
    return reader_->acceptor.is_full() || reader_->masks[0].size() >= max_masks;
  };
  if (is_full()) make_room();
  const std::lock_guard lock(reader_->mutex);
  may_end = reader_->acceptor.may_end(state_);
  auto& masks = reader_->masks[is_begin_ ? 1 : 0];
  const auto found = masks.find(state_);
  if (found != masks.end()) return found->second;
  return masks.emplace(state_, allowed_tokens(sorted(), reader_->acceptor, state_)).first->second;
}

bool Constraint::must_end() const {
  const std::lock_guard lock(reader_->mutex);
  return reader_->acceptor.must_end(state_);
}

void Constraint::apply(std::span<float> logits) {
  bool may_end = false;
  const TokenMask& allowed = mask(may_end);
  constexpr float kNever = -std::numeric_limits<float>::infinity();
  std::vector<std::pair<std::size_t, float>> ends;
  for (const TokenId token : end_tokens_) {
    const auto i = static_cast<std::size_t>(token);
    if (may_end && i < logits.size()) ends.emplace_back(i, logits[i]);
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
  const std::lock_guard lock(reader_->mutex);
  for (const char byte : sorted().text(token)) {
    state_ = reader_->acceptor.after(state_, static_cast<std::uint8_t>(byte));
  }
  is_begin_ = false;
}

}  // namespace halftone::lm
