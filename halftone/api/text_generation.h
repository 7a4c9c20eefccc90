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

struct TextGenerationOptions {
  lm::GenerateOptions generate{};  ///< the end tokens of the model are added
  bool reads_control = false;      ///< find control tokens such as "<|im_start|>" in the prompt
};

/// Continues a text.
/// @throws Error as lm::Tokenizer::encode() and lm::generate()
lm::Generation generate_text(LanguageModel& model, std::string_view prompt,
                             const TextGenerationOptions& options = {});
/// Continues tokens.
/// @param prompt  nullopt: those that the sequence has
/// @param options  the end tokens of the model are added
/// @throws Error as lm::generate()
lm::Generation generate_from_tokens(LanguageModel& model,
                                    std::optional<std::vector<lm::TokenId>> prompt,
                                    lm::GenerateOptions options);

struct AnswerOptions {
  std::string template_name{};  ///< empty: the one of the file
  /// Answers end at the end tokens of the model and of the template. max_tokens 0: where the
  /// context ends.
  lm::GenerateOptions generate{.max_tokens = 0};
};

/// Answers the last message of a conversation. The model keeps what it has read of it.
/// @throws Error kUsage if the conversation does not fit the context; as chat_prompt() and
///         lm::generate()
lm::Generation answer(LanguageModel& model, std::span<const lm::Message> conversation,
                      const AnswerOptions& options = {});
/// The text that answer() has the model continue.
/// @throws Error as LanguageModel::chat_template() and lm::ChatTemplate::render()
std::string chat_prompt(const LanguageModel& model, std::span<const lm::Message> conversation,
                        std::string_view template_name = "");

struct ChatOptions {
  std::string system{};    ///< the system message; empty: none, or the template's own
  AnswerOptions answer{};  ///< the seed of answer i is `seed + i`
};

/// A conversation.
class Chat {
 public:
  /// @param model  must outlive this
  /// @throws Error as LanguageModel::chat_template()
  Chat(LanguageModel& model, const ChatOptions& options);

  /// Answers a message of the user. If this throws, the conversation is as it was.
  /// @throws Error as halftone::answer()
  lm::Generation answer(std::string_view message);
  [[nodiscard]] const std::vector<lm::Message>& messages() const { return messages_; }

 private:
  LanguageModel& model_;
  AnswerOptions options_;
  std::vector<lm::Message> messages_;
};

}  // namespace halftone
