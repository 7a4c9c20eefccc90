// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/draft.h"

#include <algorithm>
#include <array>

#include "halftone/lm/generate/continuation.h"

namespace halftone::lm {
namespace {

constexpr std::array<std::size_t, 4> kLengths = {1, 3, 7, 15};
/// Tokens without a guess after a miss where no guess is worth its price: a try costs less than a
/// run, so that tries take 3 % of the time at most.
constexpr std::size_t kPause = 32;
/// Weight of the last token in a share.
constexpr double kDraftLearningRate = 0.1;

/// A text with its draft in progress.
struct Draft {
  const Continuation* text;
  std::size_t sequence;
  std::size_t wanted;  ///< tokens
  Sampler sampler;
  std::vector<TokenId> tokens{};
};

bool is_end(const Draft& draft, TokenId token) {
  const std::vector<TokenId>& ends = draft.text->job().end_tokens;
  return std::ranges::find(ends, token) != ends.end();
}

/// Draws a token, from logits that may have more than the text can draw.
void draw(Draft& draft, std::span<const float> logits) {
  const std::size_t num_tokens = std::min(logits.size(), draft.text->num_tokens());
  const TokenId token = draft.sampler.sample(logits.first(num_tokens));
  draft.sampler.accept(token);
  if (is_end(draft, token)) {
    draft.wanted = draft.tokens.size();  // nothing follows that would be worth a row
  } else {
    draft.tokens.push_back(token);
  }
}

/// Runs the draft once, and draws where it has read all of a text.
/// @param parts   of `drafts`, in their order
void run(TokenModel& model, std::span<Draft* const> drafts, std::span<const SequencePart> parts) {
  if (parts.empty()) return;
  const std::vector<float> logits = model.append_each(parts);
  std::span<const float> rows = logits;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    if (parts[i].wanted == WantedLogits::kNone) {
      drafts[i]->wanted = 0;
      continue;
    }
    draw(*drafts[i], rows.first(model.vocabulary()));
    rows = rows.subspan(model.vocabulary());
  }
}

/// Reads what the model has not read of the texts, and draws a token of each.
void begin(TokenModel& model, std::span<Draft> drafts, std::size_t max_read) {
  std::vector<Draft*> reading;
  std::vector<SequencePart> parts;
  for (std::size_t i = 0; i < drafts.size(); ++i) {
    Draft& draft = drafts[i];
    if (draft.wanted == 0) continue;
    const std::span<const TokenId> text = draft.text->tokens();
    const std::size_t known = reusable_tokens(model.tokens(draft.sequence), text);
    model.truncate(draft.sequence, known);
    const std::size_t count = std::min(text.size() - known, max_read / (drafts.size() - i));
    max_read -= count;
    const bool is_whole = known + count == text.size();
    reading.push_back(&draft);
    parts.push_back({draft.sequence, text.subspan(known, count),
                     is_whole ? WantedLogits::kLast : WantedLogits::kNone});
  }
  run(model, reading, parts);
}

/// Writes a token more of each draft. @return whether one has wanted it
bool go_on(TokenModel& model, std::span<Draft> drafts) {
  std::vector<Draft*> writing;
  std::vector<SequencePart> parts;
  for (Draft& draft : drafts) {
    if (draft.tokens.size() >= draft.wanted) continue;
    writing.push_back(&draft);
    parts.push_back({draft.sequence, std::span(draft.tokens).last(1), WantedLogits::kLast});
  }
  run(model, writing, parts);
  return !writing.empty();
}

}  // namespace

std::size_t DraftLength::best(std::size_t max_tokens) const {
  std::size_t best = 0;
  double best_quotient = 1;  // tokens per time, without guesses
  for (const std::size_t length : kLengths) {
    if (length > max_tokens) break;
    double tokens = 1;
    for (std::size_t i = 0; i < length; ++i) tokens = 1 + right_ * tokens;
    const double quotient = tokens / (1 + static_cast<double>(length) * (kRowCost + cost_));
    if (quotient <= best_quotient) continue;
    best = length;
    best_quotient = quotient;
  }
  return best;
}

std::size_t DraftLength::length(std::size_t max_tokens) const {
  if (pause_ > 0) return 0;
  return std::max(best(max_tokens), std::min<std::size_t>(max_tokens, 1));
}

void DraftLength::learn(std::size_t guessed, std::size_t right) {
  for (std::size_t i = 0; i < std::min(guessed, right + 1); ++i) {
    right_ += kDraftLearningRate * ((i < right ? 1.0 : 0.0) - right_);
  }
  if (best(kLengths.back()) == 0) pause_ = kPause;
}

std::vector<std::vector<TokenId>> write_draft(TokenModel& draft, std::span<const DraftPart> parts,
                                              std::size_t max_read) {
  std::vector<Draft> drafts;
  for (const DraftPart& part : parts) {
    const std::size_t wanted = part.text->draft_tokens(part.max_tokens);
    const bool has_room = part.text->tokens().size() + wanted <= draft.context();
    drafts.push_back({part.text, part.sequence, has_room ? wanted : 0, part.text->sampler()});
  }
  begin(draft, drafts, max_read);
  while (go_on(draft, drafts)) {
  }
  std::vector<std::vector<TokenId>> tokens;
  for (Draft& each : drafts) tokens.push_back(std::move(each.tokens));
  return tokens;
}

}  // namespace halftone::lm
