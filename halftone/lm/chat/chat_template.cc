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
  check_utf8(chat.text);
  std::vector<TokenId> tokens = tokenizer.encode("");
  const std::string_view text = chat.text;
  const std::size_t num_before = tokens.size();
  const auto add_plain = [&](std::size_t begin, std::size_t end) {
    const auto plain = tokenizer.encode(text.substr(begin, end - begin), {.begin = false});
    tokens.insert(tokens.end(), plain.begin(), plain.end());
  };
  std::size_t begin_of_plain = 0;
  std::size_t end_of_template = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!chat.is_template[at]) {
      ++at;
      continue;
    }
    end_of_template = std::max(end_of_template, at);
    while (end_of_template < text.size() && chat.is_template[end_of_template]) ++end_of_template;
    const TokenId token =
        tokenizer.vocabulary().special(text.substr(at, end_of_template - at), true);
    if (token == kNoToken || tokenizer.vocabulary().token(token).kind != TokenKind::kControl) {
      ++at;
      continue;
    }
    add_plain(begin_of_plain, at);
    if (at != 0 || num_before == 0 || token != tokens.back()) tokens.push_back(token);
    at += tokenizer.vocabulary().token(token).text.size();
    begin_of_plain = at;
  }
  add_plain(begin_of_plain, text.size());
  return tokens;
}

}  // namespace halftone::lm
