// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/chat_template.h"

#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/lm/chat/family_writer.h"
#include "halftone/lm/chat/jinja_writer.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {

ChatMarks chat_marks(const Tokenizer& tokenizer) {
  const auto text = [&](TokenId token) {
    return token == kNoToken ? std::string() : tokenizer.vocabulary().token(token).text;
  };
  return {text(tokenizer.begin()), text(tokenizer.end())};
}

std::vector<std::string_view> ChatTemplate::names() {
  std::vector<std::string_view> names;
  for (const ChatFamily& family : chat_families()) names.emplace_back(family.name);
  return names;
}

ChatTemplate ChatTemplate::named(std::string_view name) {
  std::string known;
  for (const ChatFamily& family : chat_families()) {
    if (family.name == name) return ChatTemplate(family_writer(family));
    known += (known.empty() ? "" : ", ") + family.name;
  }
  fail(ErrorKind::kUnsupported, "chat template: expected a file with one in Jinja, or one of " +
                                    known + "; found '" + std::string(name) + "'");
}

ChatTemplate ChatTemplate::parsed(std::string_view source) {
  return with_context("chat template", [&] { return ChatTemplate(jinja_writer(source)); });
}

ChatText ChatTemplate::render(std::span<const Message> messages, const ChatMarks& marks,
                              bool adds_answer) const {
  const std::string context = std::string("chat template") + (name() == "jinja" ? "" : " ") +
                              std::string(name() == "jinja" ? "" : name());
  return with_context(context, [&] {
    if (messages.empty()) fail(ErrorKind::kUsage, "expected a message, found none");
    for (const Message& message : messages) check_utf8(message.content);
    return writer_->write(messages, marks, adds_answer);
  });
}

std::vector<TokenId> encode(const Tokenizer& tokenizer, const ChatText& chat) {
  std::vector<TokenId> tokens = tokenizer.encode("", {.end = false});
  const std::vector<TokenId> text = tokenizer.encode(
      chat.text, {.begin = false, .end = false, .control = true, .trusted = &chat.is_template});
  const bool has_begin = !tokens.empty() && !text.empty() && text.front() == tokens.back();
  tokens.insert(tokens.end(), text.begin() + (has_begin ? 1 : 0), text.end());
  return tokens;
}

}  // namespace halftone::lm
