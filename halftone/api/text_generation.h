// SPDX-License-Identifier: Apache-2.0
// Continues texts, and converses.
#pragma once

#include <memory>
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

struct ChatOptions {
  std::string system{};         ///< the system message; empty: none, or the template's own
  std::string template_name{};  ///< empty: the one of the file
  /// Answers end at the end tokens of the model and of the template. max_tokens 0: where the
  /// context ends. The seed of answer i is `seed + i`.
  lm::GenerateOptions generate{.max_tokens = 0};
};

/// A conversation. The model keeps what it has read of it.
class Chat {
 public:
  /// @param model  must outlive this
  /// @throws Error as LanguageModel::chat_template()
  Chat(LanguageModel& model, const ChatOptions& options);
  ~Chat();

  /// Answers a message of the user. If this throws, the conversation is as it was.
  /// @throws Error kUsage if the conversation no longer fits the context; as
  ///         lm::ChatTemplate::render() and lm::generate()
  lm::Generation answer(std::string_view message);
  [[nodiscard]] const std::vector<lm::Message>& messages() const;

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace halftone
