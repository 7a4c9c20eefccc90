// SPDX-License-Identifier: Apache-2.0
// Answers of /v1/responses.
#pragma once

#include <string>
#include <vector>

#include "halftone/server/answer.h"
#include "halftone/server/completion_request.h"

namespace halftone::server {

/// Items, which are messages and calls in the order in which the model writes them.
class ResponseAnswer : public Answer {
 public:
  /// @param request   must outlive this, as the tokenizer must
  /// @param notation  of calls; null: there are none
  ResponseAnswer(AnswerHead head, const CompletionRequest& request, const lm::Tokenizer& tokenizer,
                 const lm::ToolNotation* notation);

  std::string begin(const RunningCompletion& running) override;
  std::string more(const ChoiceEvent& event, const RunningCompletion& running) override;
  std::string failure(const RequestError& error) override;
  void add(const ChoiceEvent& event) override { (void)add_items(event); }
  [[nodiscard]] Json whole(const RunningCompletion& running) const override;

 private:
  /// The events of what a text adds.
  std::string add_items(const ChoiceEvent& event);
  std::string open_message();
  std::string add_text(const std::string& text);
  std::string close_message();
  std::string add_call(const lm::ToolCall& call);
  /// An event of the stream with its number.
  std::string event(const char* type, const Json& members);
  /// The same of an item, or of the text of the last one.
  std::string item_event(const char* type, const char* name, Json value);
  [[nodiscard]] Json response(const char* status, const RunningCompletion* running) const;
  [[nodiscard]] std::string id_of_item(const char* kind) const;

  AnswerHead head_;
  const CompletionRequest& request_;
  const lm::Tokenizer& tokenizer_;
  std::optional<lm::ToolCallReader> reader_{};  ///< if there may be calls
  Json items_ = Json::array();
  std::vector<ScoredToken> tokens_{};  ///< whose text has not come yet
  std::size_t num_calls_ = 0;
  std::size_t num_events_ = 0;
  bool is_open_ = false;  ///< the last item is a message that goes on
  bool is_whole_ = true;  ///< the text ended by itself
};

}  // namespace halftone::server
