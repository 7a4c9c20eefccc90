// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/jinja_writer.h"

#include <algorithm>
#include <ctime>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/chat/jinja/json.h"
#include "halftone/lm/chat/jinja/template.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

using jinja::Value;

/// Templates make control tokens of roles, as in '<|' + message.role + '|>': a role that is a word
/// is of the template.
Value role_value(const Value& role) {
  const auto is_of_word = [](char32_t c) {
    const char32_t plain = c & ~jinja::kFromMessage;
    return (plain >= U'a' && plain <= U'z') || (plain >= U'A' && plain <= U'Z') ||
           (plain >= U'0' && plain <= U'9') || plain == U'_' || plain == U'-';
  };
  if (role.string() == nullptr || !std::ranges::all_of(role.string()->text, is_of_word)) {
    return role;
  }
  return Value::text(jinja::to_utf8_text(role.string()->text));
}

Value messages_value(const std::string& json) {
  const Value list = jinja::from_json(json, true);
  std::vector<Value> messages;
  for (const Value& message : list.sequence()->items) {
    jinja::Dict dict = *message.dict();
    if (const Value* role = dict.find("role")) dict.set(Value::text("role"), role_value(*role));
    messages.emplace_back(std::move(dict));
  }
  return Value::sequence(std::move(messages));
}

Value value_or_none(const std::string& json) {
  return json.empty() ? Value(jinja::None{}) : jinja::from_json(json, true);
}

/// What transformers gives a template. The request's own variables replace others.
jinja::Variables variables_of(const ChatRequest& request, const ChatMarks& marks) {
  jinja::Variables variables{{"messages", messages_value(request.messages)},
                             {"tools", value_or_none(request.tools)},
                             {"documents", value_or_none(request.documents)},
                             {"add_generation_prompt", request.adds_answer}};
  if (!marks.begin.empty()) variables.emplace_back("bos_token", Value::text(marks.begin));
  if (!marks.end.empty()) variables.emplace_back("eos_token", Value::text(marks.end));
  for (const auto& [name, text] : marks.others) variables.emplace_back(name, Value::text(text));
  if (request.variables.empty()) return variables;
  const Value more = jinja::from_json(request.variables, true);
  for (const auto& [key, value] : more.dict()->items) {
    const std::string name = jinja::to_utf8_text(key.string()->text);
    std::erase_if(variables, [&](const auto& variable) { return variable.first == name; });
    variables.emplace_back(name, value);
  }
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

  [[nodiscard]] ChatText write(const ChatRequest& request, const ChatMarks& marks) const override {
    return chat_text(template_.render(variables_of(request, marks), local_time()));
  }

  /// Found in a conversation of two messages.
  [[nodiscard]] std::string end_of_turn(const ChatMarks& marks) const override {
    const std::vector<Message> messages{{ChatRole::kUser, "?"}, {ChatRole::kAssistant, "!"}};
    ChatText chat;
    try {
      chat = write(chat_request(messages, false), marks);
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
