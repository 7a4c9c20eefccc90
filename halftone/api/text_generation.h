// SPDX-License-Identifier: Apache-2.0
// Continues texts, and converses.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/api/language_model.h"
#include "halftone/lm/generate/generate.h"

namespace halftone {

/// What lm::generate() is to continue, and how.
struct PreparedText {
  std::vector<lm::TokenId> prompt{};
  lm::GenerateJob job{};
  std::size_t forgotten_messages = 0;  ///< of a conversation, left out to make room
};
/// A text to continue, until an end token of the model. By any thread.
/// @throws Error as lm::Tokenizer::encode()
PreparedText prepare_text(const TextModel& model, std::string_view prompt,
                          const v0::GenerateOptions& options);
/// A conversation to answer, as answer() does. By any thread.
/// @throws Error as chat_prompt()
PreparedText prepare_answer(const TextModel& model, const lm::ChatRequest& request,
                            const v0::AnswerOptions& options);

/// Continues a text.
/// @throws Error as lm::Tokenizer::encode() and lm::generate(); kUsage if the options have both a
///         JSON schema and a grammar; as lm::grammar_of_schema(), lm::parse_grammar()
lm::Generation generate_text(TextModel& model, std::string_view prompt,
                             const v0::GenerateOptions& options = {},
                             const v0::OnToken& on_token = {});
/// Continues tokens.
/// @param prompt  nullopt: those that the sequence has
/// @throws Error as lm::generate()
lm::Generation generate_from_tokens(TextModel& model,
                                    std::optional<std::vector<lm::TokenId>> prompt,
                                    const v0::GenerateOptions& options,
                                    const v0::OnToken& on_token = {});

/// lm::chat_request() and lm::parse_chat_request().
/// @throws Error as these
lm::ChatRequest chat_request_of(std::span<const lm::Message> conversation);
lm::ChatRequest chat_request_of_json(std::string_view json);

/// Answers the last message of a conversation, or continues it. The model keeps what it has read.
/// Answers end at the end tokens of the model and of the template. The system message and the last
/// turn are never forgotten.
/// @throws Error kUsage if the conversation does not fit the context; as chat_prompt() and
///         lm::generate()
lm::Generation answer(TextModel& model, const lm::ChatRequest& request,
                      const v0::AnswerOptions& options = {}, const v0::OnToken& on_token = {});
/// The text that answer() has the model continue.
/// @throws Error as TextModel::chat_template() and lm::ChatTemplate::render()
std::string chat_prompt(const TextModel& model, const lm::ChatRequest& request,
                        std::string_view template_name = "");

struct ChatOptions {
  std::string system{};       ///< the system message; empty: none, or the template's own
  lm::ChatRequest request{};  ///< messages before the first one, tools, documents, variables
  v0::AnswerOptions answer{.forgets = true};  ///< the seed of answer i is `seed + i`
  v0::OnToken on_token{};
};

/// A conversation.
class Conversation {
 public:
  /// @param model  must outlive this
  /// @throws Error as TextModel::chat_template()
  Conversation(TextModel& model, const ChatOptions& options);

  /// Answers a message of the user. If this throws, the conversation is as it was.
  /// @throws Error as halftone::answer()
  lm::Generation answer(std::string_view message);
  /// Answers the messages that there are, or continues the last one if the request says so.
  /// @throws Error as halftone::answer()
  lm::Generation answer();
  /// What the next answer() answers.
  [[nodiscard]] const lm::ChatRequest& request() const { return request_; }

 private:
  TextModel& model_;
  v0::AnswerOptions options_;
  v0::OnToken on_token_;
  lm::ChatRequest request_;
};

}  // namespace halftone
