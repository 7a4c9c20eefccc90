// SPDX-License-Identifier: Apache-2.0
// The text that a model expects of a conversation.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "halftone/lm/chat/chat_request.h"
#include "halftone/lm/text/tokenizer.h"

namespace halftone::lm {

/// Texts of special tokens, which a template may write.
struct ChatMarks {
  std::string begin;  ///< that begins a text; empty if there is none
  std::string end;    ///< that ends a text; empty if there is none
  /// Others by their variables: {"unk_token", "<unk>"}.
  std::vector<std::pair<std::string, std::string>> others{};
};

/// The marks of a tokenizer.
ChatMarks chat_marks(const Tokenizer& tokenizer);

/// A conversation as text. Control tokens are found in what the template wrote, and nowhere else:
/// "<|im_end|>" in a message stays plain text.
struct ChatText {
  std::string text;
  std::vector<bool> is_template;  ///< by byte
};

/// How a model writes conversations.
class ChatTemplate {
 public:
  /// That of a family of models, for files without one.
  /// @throws Error kUnsupported that lists names()
  static ChatTemplate named(std::string_view name);
  static std::vector<std::string_view> names();
  /// One in Jinja; see jinja::Template.
  /// @param source  the key tokenizer.chat_template of GGUF, or chat_template of Hugging Face's
  ///                tokenizer_config.json
  /// @throws Error kFormat of what is no template or not UTF-8; kUnsupported of what chat templates
  ///         do not have; both name the line
  static ChatTemplate parsed(std::string_view source);

  /// Of the family; "jinja" of another.
  [[nodiscard]] std::string_view name() const { return writer_->name(); }
  /// What stands behind an answer, without white space in front: it begins with the control token
  /// that ends an answer. Empty if the template writes none.
  [[nodiscard]] std::string end_of_turn(const ChatMarks& marks) const {
    return writer_->end_of_turn(marks);
  }

  /// @throws Error kUsage if there are no messages, the template refuses them, as where users and
  ///         assistants must alternate, or leaves out the message to continue or a call; kFormat if
  ///         the request is malformed; kUnsupported as jinja::Template::render(), and of what a
  ///         family does not have: system messages, tools, ...
  [[nodiscard]] ChatText render(const ChatRequest& request, const ChatMarks& marks) const;

  /// Writes the conversations of a template.
  class Writer {
   public:
    virtual ~Writer() = default;
    [[nodiscard]] virtual std::string_view name() const = 0;
    [[nodiscard]] virtual std::string end_of_turn(const ChatMarks& marks) const = 0;
    [[nodiscard]] virtual ChatText write(const ChatRequest& request,
                                         const ChatMarks& marks) const = 0;
  };

 private:
  explicit ChatTemplate(std::shared_ptr<const Writer> writer) : writer_(std::move(writer)) {}
  std::shared_ptr<const Writer> writer_;  // shared by copies
};

/// The tokens of a conversation. The begin token is in front once if the tokenizer or the template
/// has it there.
/// @throws Error kFormat if the text is not UTF-8
std::vector<TokenId> encode(const Tokenizer& tokenizer, const ChatText& chat);

}  // namespace halftone::lm
