// SPDX-License-Identifier: Apache-2.0
// The text that a model expects of a conversation.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/lm/text/tokenizer.h"

namespace halftone::lm {

enum class ChatRole : std::uint8_t { kSystem, kUser, kAssistant };

struct Message {
  ChatRole role = ChatRole::kUser;
  std::string content;
};

/// The texts of the tokens that begin and end a text; empty where a model has none.
struct ChatMarks {
  std::string begin;
  std::string end;
};

/// The marks of a tokenizer.
ChatMarks chat_marks(const Tokenizer& tokenizer);

/// A conversation as text. Control tokens are found in what the template wrote, and nowhere else:
/// "<|im_end|>" in a message stays plain text.
struct ChatText {
  std::string text;
  std::vector<bool> is_template;  ///< by byte
};

struct ChatFamily;

/// How a family of models writes conversations. It gives the text of the Jinja templates of that
/// family, without an interpreter of Jinja.
class ChatTemplate {
 public:
  /// @throws Error kUnsupported that lists names()
  static ChatTemplate named(std::string_view name);
  /// Recognizes the family by its marks, and reads the default system message from the text.
  /// @param jinja  the key tokenizer.chat_template of GGUF, or chat_template of Hugging Face's
  ///               tokenizer_config.json
  /// @throws Error kUnsupported if no family has such a template: the caller names one
  static ChatTemplate recognized(std::string_view jinja);
  static std::vector<std::string_view> names();

  [[nodiscard]] std::string_view name() const;
  /// The text of the control token that ends an answer.
  [[nodiscard]] std::string_view end_of_turn() const;

  /// @param adds_answer  ends with the beginning of the assistant's next message
  /// @throws Error kUsage if there are no messages, a system message is not the first one, or users
  ///         and assistants do not alternate where they must; kUnsupported if the family has no
  ///         system messages
  [[nodiscard]] ChatText render(std::span<const Message> messages, const ChatMarks& marks,
                                bool adds_answer = true) const;

 private:
  explicit ChatTemplate(std::shared_ptr<const ChatFamily> family) : family_(std::move(family)) {}
  std::shared_ptr<const ChatFamily> family_;  // shared by copies
};

/// The tokens of a conversation. The begin token is in front once if the tokenizer or the template
/// has it there.
/// @throws Error kFormat if the text is not UTF-8
std::vector<TokenId> encode(const Tokenizer& tokenizer, const ChatText& chat);

}  // namespace halftone::lm
