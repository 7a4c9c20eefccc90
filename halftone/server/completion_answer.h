// SPDX-License-Identifier: Apache-2.0
// Answers of /v1/chat/completions and /v1/completions.
#pragma once

#include <string>
#include <vector>

#include "halftone/server/answer.h"
#include "halftone/server/completion_request.h"

namespace halftone::server {

class CompletionAnswer : public Answer {
 public:
  /// @param request   must outlive this, as the tokenizer must
  /// @param notation  of calls; null: there are none
  CompletionAnswer(AnswerHead head, const CompletionRequest& request,
                   const lm::Tokenizer& tokenizer, std::size_t num_choices,
                   const lm::ToolNotation* notation = nullptr);

  std::string begin(const RunningCompletion& running) override;
  std::string more(const ChoiceEvent& event, const RunningCompletion& running) override;
  std::string failure(const RequestError& error) override;
  void add(const ChoiceEvent& event) override;
  [[nodiscard]] Json whole(const RunningCompletion& running) const override;

 private:
  struct Choice {
    std::string text;
    std::vector<ScoredToken> tokens;
    std::size_t text_bytes = 0;                  ///< of the tokens so far
    std::optional<lm::ToolCallReader> reader{};  ///< if there may be calls
    std::vector<lm::ToolCall> calls{};
    const char* finish_reason = "stop";
  };

  /// The choices of the answer: of each prompt's candidates the most probable, the mean of
  /// logarithms over tokens decides.
  [[nodiscard]] std::vector<std::size_t> best_choices() const;
  /// The pieces of a stream that begin it: who writes, or the prompts.
  [[nodiscard]] std::vector<Json> first_pieces(const RunningCompletion& running) const;
  /// The pieces of a stream that an event makes.
  std::vector<Json> pieces(const ChoiceEvent& event);
  /// The last piece of a stream, with the number of tokens.
  [[nodiscard]] Json usage_piece(const RunningCompletion& running) const;
  [[nodiscard]] Json root(const char* chat, const char* completion, Json choices) const;
  [[nodiscard]] Json piece(std::size_t choice, const std::string& text, Json logprobs,
                           const char* finish_reason) const;
  /// The pieces of what a text has, its calls behind its content.
  std::vector<Json> pieces(std::size_t choice, const lm::ToolText& text, Json logprobs);
  [[nodiscard]] Json call_json(std::size_t choice, std::size_t index) const;
  [[nodiscard]] Json message_of(std::size_t choice) const;
  [[nodiscard]] std::string token_text(lm::TokenId token) const;
  /// The probabilities of some tokens; null if none are wanted.
  Json logprobs(std::span<const ScoredToken> tokens, std::size_t& text_bytes) const;
  Json completion_logprobs(std::span<const ScoredToken> tokens, std::size_t& text_bytes) const;

  AnswerHead head_;
  const CompletionRequest& request_;
  const lm::Tokenizer& tokenizer_;
  std::vector<Choice> choices_;
};

}  // namespace halftone::server
