// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/generate/generate.h"

#include <algorithm>
#include <string>

#include "halftone/base/error.h"
#include "halftone/lm/generate/continuation.h"

namespace halftone::lm {
namespace {

/// Tokens of a prompt between two questions whether to stop.
constexpr std::size_t kPromptPart = 256;

/// Runs what the model does not have of the prompt. @return  logits; none if interrupted
std::vector<float> read_prompt(TokenModel& model, std::size_t sequence, Continuation& text) {
  const std::span<const TokenId> prompt = text.tokens();
  const std::size_t same = reusable_tokens(model.tokens(sequence), prompt);
  model.truncate(sequence, same);
  text.set_prompt(same, same);
  std::vector<float> logits;
  for (std::size_t at = same; at < prompt.size(); at += kPromptPart) {
    if (!text.goes_on()) return {};
    const std::size_t count = std::min(kPromptPart, prompt.size() - at);
    logits = model.append(sequence, prompt.subspan(at, count), false);
    text.set_prompt(at + count, same);
  }
  return logits;
}

/// Draws what follows a text and guesses that the model has read, and has it forget wrong ones.
void write_guessed(TokenModel& model, Continuation& text, std::span<const TokenId> guesses,
                   std::span<const float> logits) {
  const auto forget = [&] {
    if (!guesses.empty()) model.truncate(text.job().sequence, text.tokens().size() - 1);
  };
  try {
    text.write_guessed(guesses, logits);
  } catch (...) {
    forget();
    throw;
  }
  forget();
}

/// What may follow a text: what it has said before, else what the draft of its model says.
std::vector<TokenId> guess(const TokenModel& model, const Continuation& text) {
  constexpr std::size_t kMaxGuesses = 15;  // of a draft
  std::vector<TokenId> guesses = text.guess(text.job().lookup);
  if (!guesses.empty() || model.draft() == nullptr) return guesses;
  const DraftPart part{text.job().sequence, &text, kMaxGuesses};
  return write_draft(*model.draft(), {&part, 1}).front();
}

}  // namespace

std::size_t reusable_tokens(std::span<const TokenId> known, std::span<const TokenId> prompt) {
  const auto differs = std::ranges::mismatch(prompt, known).in1;
  // The logits behind the last token are needed in any case.
  return std::min(static_cast<std::size_t>(differs - prompt.begin()), prompt.size() - 1);
}

Generation generate(TokenModel& model, const Tokenizer& tokenizer, std::span<const TokenId> prompt,
                    const GenerateJob& job) {
  if (job.sequence >= model.sequences()) {
    fail(ErrorKind::kUsage, "sequence: expected 0 to " + std::to_string(model.sequences() - 1) +
                                ", found " + std::to_string(job.sequence));
  }
  Continuation text(model, tokenizer, prompt, job);
  std::vector<float> logits = read_prompt(model, job.sequence, text);
  std::vector<TokenId> guesses;
  while (!text.has_ended()) {
    write_guessed(model, text, guesses, logits);
    if (text.has_ended()) break;
    guesses = guess(model, text);
    std::vector<TokenId> next = guesses;
    next.insert(next.begin(), text.tokens().back());
    logits = model.append(job.sequence, next, true);
  }
  return text.finish();
}

}  // namespace halftone::lm
