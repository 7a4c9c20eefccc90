// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/continuation.h"

#include <algorithm>
#include <string>
#include <utility>

#include "halftone/base/error.h"

namespace halftone::lm {

Continuation::Continuation(const TokenModel& model, const Tokenizer& tokenizer,
                           std::span<const TokenId> prompt, GenerateJob job)
    : job_(std::move(job)),
      context_(model.context()),
      // Some models have logits without a token, which pad their number.
      num_tokens_(std::min(model.vocabulary(), tokenizer.vocabulary().size())),
      sampler_(job_.sampling),
      stream_(tokenizer, {job_.end_tokens, job_.stops, job_.shown_tokens}, job_.is_begin),
      tokens_(prompt.begin(), prompt.end()) {
  if (prompt.empty()) {
    fail(ErrorKind::kUsage,
         "prompt: expected a token at least, found none: the model has no token "
         "that begins a text; give it some text");
  }
  if (prompt.size() > context_) {
    fail(ErrorKind::kUsage,
         "prompt: expected at most " + std::to_string(context_) +
             " tokens, which is the context, found " + std::to_string(prompt.size()),
         Hint::kContext);
  }
  for (const TokenId token : prompt) sampler_.accept(token, false);
  if (job_.form) constraint_.emplace(job_.form, job_.end_tokens, job_.is_begin);
  // Guesses that were wrong are cut off.
  if (!model.truncates_freely()) job_.lookup = 0;
  if (model.draft() != nullptr) draft_length_.emplace(model.draft_cost());
  if (job_.lookup > 0) lookup_.look(tokens_);
}

double Continuation::seconds() const {
  return std::chrono::duration<double>(Clock::now() - start_).count();
}

bool Continuation::ask(TokenId token, std::string_view text) {
  return !job_.on_token || job_.on_token(token, text);
}

void Continuation::end(End reason) {
  result_.end = reason;
  has_ended_ = true;
}

void Continuation::set_prompt(std::size_t done, std::size_t reused) {
  result_.prompt_tokens = done;
  result_.reused_tokens = reused;
  result_.prompt_seconds = seconds();
  if (job_.max_tokens == 0 && done == tokens_.size()) end(End::kCount);
}

bool Continuation::goes_on() {
  if (!ask(kNoToken, "")) interrupt();
  return !has_ended_;
}

void Continuation::interrupt() { end(End::kInterrupted); }

bool Continuation::ends_here() {
  const bool is_whole = constraint_ && constraint_->must_end();
  if (stream_.stop_reason() == StopReason::kText) {
    end(End::kText);
  } else if (stream_.stop_reason() == StopReason::kToken || is_whole) {
    end(End::kToken);
  } else if (result_.tokens.size() >= job_.max_tokens) {
    end(End::kCount);
  } else if (tokens_.size() > context_) {  // with a token that the model has not seen
    end(End::kContext);
  }
  return has_ended_;
}

TokenId Continuation::draw(std::span<const float> logits) {
  std::vector<float> allowed;
  if (constraint_) {
    allowed.assign(logits.begin(), logits.end());
    constraint_->apply(allowed);
    logits = allowed;
  }
  if (job_.on_logits) job_.on_logits(logits);
  const TokenId token = sampler_.sample(logits);
  sampler_.accept(token);
  if (constraint_) constraint_->accept(token);
  return token;
}

void Continuation::draw_ahead(std::span<const float> logits) {
  if (!has_ended_ && !job_.on_logits) drawn_ = draw(logits.first(num_tokens_));
}

void Continuation::write(std::span<const float> logits) {
  const TokenId token = drawn_ ? *drawn_ : draw(logits.first(num_tokens_));
  drawn_.reset();
  tokens_.push_back(token);
  result_.tokens.push_back(token);
  if (job_.lookup > 0) lookup_.look(tokens_);
  if (draft_length_) draft_length_->pass();
  if (result_.tokens.size() == 1) result_.first_seconds = seconds();
  const std::string piece = stream_.push(token);
  result_.text += piece;
  const bool is_wanted = ask(token, piece);
  if (!ends_here() && !is_wanted) interrupt();
  result_.generate_seconds = seconds() - result_.first_seconds;
}

std::size_t Continuation::max_guesses(std::size_t max_tokens) const {
  const std::size_t wanted = job_.max_tokens - result_.tokens.size();
  return std::min({max_tokens, wanted - 1, context_ - tokens_.size()});
}

std::vector<TokenId> Continuation::guess(std::size_t max_tokens) const {
  if (job_.lookup == 0 || has_ended_) return {};
  return lookup_.guess(tokens_, max_guesses(std::min(max_tokens, job_.lookup)));
}

std::size_t Continuation::draft_tokens(std::size_t max_tokens) const {
  if (!draft_length_ || has_ended_) return 0;
  return draft_length_->length(max_guesses(max_tokens));
}

std::size_t Continuation::write_guessed(std::span<const TokenId> guesses,
                                        std::span<const float> logits) {
  const std::size_t width = logits.size() / (guesses.size() + 1);
  const bool is_drafted = draft_length_ && !guesses.empty() && guess(1).empty();
  result_.guessed_tokens += guesses.size();
  std::size_t right = 0;
  for (std::size_t row = 0; row <= guesses.size() && !has_ended_ && row == right; ++row) {
    write(logits.subspan(row * width, width));
    if (row < guesses.size() && tokens_.back() == guesses[row]) ++right;
  }
  if (is_drafted) draft_length_->learn(guesses.size(), right);
  result_.accepted_tokens += right;
  return right;
}

Generation Continuation::finish() {
  const std::string rest = stream_.finish();
  result_.text += rest;
  if (!rest.empty()) (void)ask(kNoToken, rest);
  return std::move(result_);
}

}  // namespace halftone::lm
