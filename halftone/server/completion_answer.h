// SPDX-License-Identifier: Apache-2.0
// Answers with texts, in OpenAI's protocol.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "halftone/lm/text/tokenizer.h"
#include "halftone/lm/tools/tool_call_reader.h"
#include "halftone/server/completion_request.h"
#include "halftone/server/event_queue.h"
#include "halftone/server/json_body.h"
#include "halftone/server/text_service.h"

namespace halftone::server {

/// What all parts of an answer have in common.
struct AnswerHead {
  std::string id;
  std::int64_t created = 0;  ///< seconds since 1970
  std::string model;
};

/// Makes the JSON of an answer from its events: whole, or piece by piece.
class CompletionAnswer {
 public:
  /// @param notation  of calls; null: there are none
  CompletionAnswer(AnswerHead head, const CompletionRequest& request,
                   const lm::Tokenizer& tokenizer, std::size_t num_choices,
                   const lm::ToolNotation* notation = nullptr);

  /// The pieces of a stream that begin it: who writes, or the prompts.
  [[nodiscard]] std::vector<Json> first_pieces(const RunningCompletion& running) const;
  /// The pieces of a stream that an event makes.
  std::vector<Json> pieces(const ChoiceEvent& event);
  /// The last piece of a stream, with the number of tokens.
  [[nodiscard]] Json usage_piece(const RunningCompletion& running) const;

  /// Adds an event to the whole answer.
  void add(const ChoiceEvent& event);
  /// The whole answer. @pre all choices have ended
  [[nodiscard]] Json whole(const RunningCompletion& running) const;

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
  [[nodiscard]] Json root(const char* chat, const char* completion, Json choices) const;
  [[nodiscard]] Json piece(std::size_t choice, const std::string& text, Json logprobs,
                           const char* finish_reason) const;
  /// The pieces of what a text has, its calls behind its content.
  std::vector<Json> pieces(std::size_t choice, const lm::ToolText& text, Json logprobs);
  [[nodiscard]] Json call_json(std::size_t choice, std::size_t index) const;
  [[nodiscard]] Json message_of(std::size_t choice) const;
  [[nodiscard]] Json token_json(const TokenLogprob& token) const;
  [[nodiscard]] std::string token_text(lm::TokenId token) const;
  /// The probabilities of some tokens; null if none are wanted.
  Json logprobs(std::span<const ScoredToken> tokens, std::size_t& text_bytes) const;
  [[nodiscard]] Json chat_logprobs(std::span<const ScoredToken> tokens) const;
  Json completion_logprobs(std::span<const ScoredToken> tokens, std::size_t& text_bytes) const;

  AnswerHead head_;
  const CompletionRequest& request_;
  const lm::Tokenizer& tokenizer_;
  std::vector<Choice> choices_;
};

}  // namespace halftone::server
