// SPDX-License-Identifier: Apache-2.0
// A text that is written token by token.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "halftone/lm/generate/draft.h"
#include "halftone/lm/generate/generate.h"
#include "halftone/lm/generate/prompt_lookup.h"
#include "halftone/lm/generate/sampler.h"
#include "halftone/lm/generate/text_stream.h"

namespace halftone::lm {

/// A generation in progress: what it draws from logits depends on these and on its own tokens, not
/// on who computes them, nor when.
class Continuation {
 public:
  /// @param model  whose logits come; of it the sizes are asked only
  /// @throws Error kUsage if the prompt is empty or longer than the context; as Sampler and
  /// Constraint
  Continuation(const TokenModel& model, const Tokenizer& tokenizer, std::span<const TokenId> prompt,
               GenerateJob job);

  /// The prompt and what was written: all of it the model needs for the next token.
  [[nodiscard]] std::span<const TokenId> tokens() const { return tokens_; }
  [[nodiscard]] std::size_t num_written() const { return result_.tokens.size(); }
  [[nodiscard]] bool has_ended() const { return has_ended_; }
  [[nodiscard]] const GenerateJob& job() const { return job_; }

  /// Tells how far the prompt is: `done` tokens, of which `reused` were there before.
  void set_prompt(std::size_t done, std::size_t reused);
  /// Asks whether to go on, where no token is new; ends the text if not.
  bool goes_on();
  /// Draws the next token, from the logits behind tokens(), unless GenerateJob::on_logits is to
  /// see these: the next write() or write_guessed(), which takes the same, only tells it. For texts
  /// whose tokens are drawn on several threads, since nobody is told here.
  /// @param logits  [vocabulary] or more
  /// @throws Error as Sampler::sample() and Constraint::apply()
  void draw_ahead(std::span<const float> logits);
  /// Draws the next token, from the logits behind tokens(), and tells it.
  /// @throws Error as draw_ahead()
  void write(std::span<const float> logits);
  /// Tokens that may follow tokens(), as many as are worth to try.
  [[nodiscard]] std::vector<TokenId> guess(std::size_t max_tokens) const;
  /// Tokens that a draft is to guess, where guess() has none.
  [[nodiscard]] std::size_t draft_tokens(std::size_t max_tokens) const;
  /// What draws the next tokens.
  [[nodiscard]] const Sampler& sampler() const { return sampler_; }
  /// Number of tokens that may be drawn.
  [[nodiscard]] std::size_t num_tokens() const { return num_tokens_; }
  /// Draws the next token as write() does, and those behind guesses while these are what is drawn.
  /// @param logits  [1 + guesses, vocabulary]: behind tokens(), and behind each guess
  /// @return        number of guesses that were right
  /// @throws Error as write()
  std::size_t write_guessed(std::span<const TokenId> guesses, std::span<const float> logits);
  /// Ends the text before its time.
  void interrupt();
  /// What was generated, with the text that was held back.
  Generation finish();

 private:
  [[nodiscard]] double seconds() const;
  /// As many tokens as a run may guess: one is drawn without.
  [[nodiscard]] std::size_t max_guesses(std::size_t max_tokens) const;
  TokenId draw(std::span<const float> logits);
  void end(End reason);
  bool ask(TokenId token, std::string_view text);
  /// Whether the last token was the last one.
  [[nodiscard]] bool ends_here();

  using Clock = std::chrono::steady_clock;
  GenerateJob job_;
  std::size_t context_;
  std::size_t num_tokens_;  ///< that may be drawn
  Sampler sampler_;
  TextStream stream_;
  std::optional<Constraint> constraint_;  ///< of the job's form
  PromptLookup lookup_;
  std::optional<DraftLength> draft_length_;  ///< nullopt: there is no draft
  std::optional<TokenId> drawn_;             ///< ahead
  std::vector<TokenId> tokens_;
  Generation result_;
  bool has_ended_ = false;
  Clock::time_point start_ = Clock::now();
};

}  // namespace halftone::lm
