// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/jinja_writer.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/template.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

using jinja::Value;

const char* name_of(ChatRole role) {
  switch (role) {
    case ChatRole::kSystem:
      return "system";
    case ChatRole::kUser:
      return "user";
    case ChatRole::kAssistant:
      return "assistant";
  }
  return "";
}

Value messages_value(std::span<const Message> messages) {
  std::vector<Value> list;
  for (const Message& message : messages) {
    jinja::Dict dict;
    dict.set(Value::text("role"), Value::text(name_of(message.role)));
    dict.set(Value::text("content"), Value(jinja::from_utf8(message.content, true)));
    list.emplace_back(std::move(dict));
  }
  return Value::sequence(std::move(list));
}

/// What transformers gives a template.
jinja::Variables variables_of(std::span<const Message> messages, const ChatMarks& marks,
                              bool adds_answer) {
  jinja::Variables variables{{"messages", messages_value(messages)},
                             {"tools", jinja::None{}},
                             {"documents", jinja::None{}},
                             {"add_generation_prompt", adds_answer}};
  if (!marks.begin.empty()) variables.emplace_back("bos_token", Value::text(marks.begin));
  if (!marks.end.empty()) variables.emplace_back("eos_token", Value::text(marks.end));
  return variables;
}

std::tm local_time() {
  const std::time_t now = std::time(nullptr);
  std::tm time{};
  ::localtime_r(&now, &time);
  return time;
}

/// Each code point in UTF-8, which is of the template unless a message brought it.
ChatText chat_text(jinja::TextView text) {
  ChatText chat;
  chat.text = jinja::to_utf8_text(text);
  std::size_t at = 0;
  for (const char32_t c : text) {
    at += utf8_length(std::string_view(chat.text).substr(at));
    chat.is_template.resize(at, (c & jinja::kFromMessage) == 0);
  }
  return chat;
}

class JinjaWriter : public ChatTemplate::Writer {
 public:
  explicit JinjaWriter(std::string_view source) : template_(source) {}

  [[nodiscard]] std::string_view name() const override { return "jinja"; }

  [[nodiscard]] ChatText write(std::span<const Message> messages, const ChatMarks& marks,
                               bool adds_answer) const override {
    return chat_text(template_.render(variables_of(messages, marks, adds_answer), local_time()));
  }

  /// Found in a conversation of two messages.
  [[nodiscard]] std::string end_of_turn(const ChatMarks& marks) const override {
    const std::vector<Message> messages{{ChatRole::kUser, "?"}, {ChatRole::kAssistant, "!"}};
    ChatText chat;
    try {
      chat = write(messages, marks, false);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::kMemory) throw;
      return "";  // it takes no such conversation
    }
    const auto last = std::ranges::find(chat.is_template.rbegin(), chat.is_template.rend(), false);
    const auto behind = static_cast<std::size_t>(last - chat.is_template.rbegin());
    if (last == chat.is_template.rend()) return "";
    const std::string text = chat.text.substr(chat.text.size() - behind);
    const std::size_t begin = text.find_first_not_of(" \n");
    return begin == std::string::npos ? "" : text.substr(begin);
  }

 private:
  jinja::Template template_;
};

}  // namespace

std::shared_ptr<const ChatTemplate::Writer> jinja_writer(std::string_view source) {
  return std::make_shared<const JinjaWriter>(source);
}

}  // namespace halftone::lm
