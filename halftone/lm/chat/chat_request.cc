// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/chat_request.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/json/json_text.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::array kRoles = {"system", "user", "assistant"};

OrderedJson parse_part(std::string_view text, const char* what, bool is_list) {
  with_context(what, [&] { check_json(text); });
  OrderedJson value = OrderedJson::parse(text);
  if (is_list ? value.is_array() : value.is_object()) return value;
  fail(ErrorKind::kFormat, std::string(what) + ": expected " + (is_list ? "a list" : "an object") +
                               " in JSON, found another value");
}

/// Messages, each an object.
OrderedJson parse_messages(const ChatRequest& request) {
  OrderedJson messages = parse_part(request.messages, "messages", true);
  for (const OrderedJson& message : messages) {
    if (message.is_object()) continue;
    fail(ErrorKind::kFormat, "messages: expected objects, found " + message.dump());
  }
  return messages;
}

OrderedJson object_of(const Message& message) {
  check_utf8(message.content);
  return {{"role", kRoles[static_cast<std::size_t>(message.role)]}, {"content", message.content}};
}

bool flag_of(const OrderedJson& root, const char* key, bool otherwise) {
  const auto found = root.find(key);
  if (found == root.end() || found->is_null()) return otherwise;
  if (!found->is_boolean()) fail(ErrorKind::kFormat, std::string(key) + ": expected a boolean");
  return found->get<bool>();
}

/// The place of the text that an answer continues: the content, or the last text of its parts.
OrderedJson* last_text(OrderedJson& message) {
  const auto content = message.find("content");
  if (content == message.end()) return nullptr;
  if (content->is_string()) return &*content;
  if (!content->is_array()) return nullptr;
  for (std::size_t i = content->size(); i-- > 0;) {
    OrderedJson& part = (*content)[i];
    const auto text = part.is_object() ? part.find("text") : part.end();
    if (part.is_object() && text != part.end() && text->is_string()) return &*text;
  }
  return nullptr;
}

}  // namespace

ChatRequest chat_request(std::span<const Message> messages, bool adds_answer) {
  OrderedJson list = OrderedJson::array();
  for (const Message& message : messages) list.push_back(object_of(message));
  return {.messages = list.dump(), .adds_answer = adds_answer};
}

ChatRequest parse_chat_request(std::string_view json) {
  OrderedJson root = parse_part(json, "request", false);
  ChatRequest request;
  const auto take = [&](const char* key, std::string& text) {
    const auto found = root.find(key);
    if (found == root.end()) return false;
    if (!found->is_null()) text = found->dump();
    root.erase(key);
    return true;
  };
  if (!take("messages", request.messages)) {
    fail(ErrorKind::kFormat, "request: expected 'messages', found none");
  }
  take("tools", request.tools);
  take("documents", request.documents);
  request.continues_last = flag_of(root, "continue_final_message", false);
  request.adds_answer = flag_of(root, "add_generation_prompt", !request.continues_last);
  root.erase("continue_final_message");
  root.erase("add_generation_prompt");
  if (request.adds_answer && request.continues_last) {
    fail(ErrorKind::kUsage,
         "request: expected one of add_generation_prompt and continue_final_message, found both");
  }
  if (!root.empty()) request.variables = root.dump();
  return request;
}

void put_system_message(ChatRequest& request, const std::string& content) {
  OrderedJson messages = parse_messages(request);
  const OrderedJson system = object_of({ChatRole::kSystem, content});
  if (!messages.empty() && messages[0].value("role", OrderedJson()) == "system") {
    messages[0] = system;
  } else {
    messages.insert(messages.begin(), system);
  }
  request.messages = messages.dump();
}

void append_message(ChatRequest& request, const Message& message) {
  OrderedJson messages = parse_messages(request);
  messages.push_back(object_of(message));
  request.messages = messages.dump();
  request.continues_last = false;
  request.adds_answer = true;
}

void append_answer(ChatRequest& request, const std::string& content) {
  if (!request.continues_last) return append_message(request, {ChatRole::kAssistant, content});
  request.messages = with_end_mark(request, content).messages;
  request.continues_last = false;
  request.adds_answer = true;
}

std::size_t forget_turn(ChatRequest& request) {
  OrderedJson messages = parse_messages(request);
  const auto has_role = [](const OrderedJson& message, std::string_view role) {
    return message.value("role", OrderedJson()) == role;
  };
  const auto first = std::find_if(messages.begin(), messages.end(), [&](const OrderedJson& each) {
    return !has_role(each, "system") && !has_role(each, "developer");
  });
  if (first == messages.end()) return 0;
  const auto next = std::find_if(first + 1, messages.end(),
                                 [&](const OrderedJson& each) { return has_role(each, "user"); });
  if (next == messages.end()) return 0;
  const auto count = static_cast<std::size_t>(next - first);
  messages.erase(first, next);
  request.messages = messages.dump();
  return count;
}

std::vector<Message> plain_messages(const ChatRequest& request) {
  for (const auto& [name, text] :
       {std::pair{"tools", &request.tools}, std::pair{"documents", &request.documents},
        std::pair{"variables", &request.variables}}) {
    if (text->empty()) continue;
    fail(ErrorKind::kUnsupported,
         std::string("has no ") + name + "; expected a template in Jinja, which has");
  }
  std::vector<Message> messages;
  for (const OrderedJson& message : parse_messages(request)) {
    const auto role = std::find(kRoles.begin(), kRoles.end(), message.value("role", OrderedJson()));
    const auto content = message.find("content");
    if (role == kRoles.end() || content == message.end() || !content->is_string()) {
      fail(ErrorKind::kUnsupported,
           "expected messages with a role, system, user or assistant, and a text, found " +
               message.dump() + "; expected a template in Jinja for others");
    }
    messages.push_back({static_cast<ChatRole>(role - kRoles.begin()), content->get<std::string>()});
  }
  return messages;
}

ChatRequest with_end_mark(const ChatRequest& request, std::string_view mark) {
  OrderedJson messages = parse_messages(request);
  OrderedJson* text = messages.empty() ? nullptr : last_text(messages.back());
  if (text == nullptr) {
    fail(ErrorKind::kUsage, "expected a last message with a text to continue, found none");
  }
  *text = text->get<std::string>() + std::string(mark);
  ChatRequest marked = request;
  marked.messages = messages.dump();
  return marked;
}

ChatRequest with_call(const ChatRequest& request, std::string_view name, const std::string& id) {
  OrderedJson messages = parse_messages(request);
  const OrderedJson function = {{"name", name}, {"arguments", OrderedJson::object()}};
  const OrderedJson call = {{"id", id}, {"type", "function"}, {"function", function}};
  messages.push_back(
      {{"role", "assistant"}, {"content", ""}, {"tool_calls", OrderedJson::array({call})}});
  ChatRequest calling = request;
  calling.messages = messages.dump();
  return calling;
}

ChatRequest with_thoughts(const ChatRequest& request) {
  OrderedJson messages = parse_messages(request);
  for (OrderedJson& message : messages) {
    for (const char* key : {"reasoning_content", "thinking", "reasoning"}) {
      const auto found = message.find(key);
      if (found == message.end() || found->is_null()) continue;
      const OrderedJson thoughts = *found;
      if (!message.contains("thinking")) message["thinking"] = thoughts;
      message["reasoning_content"] = thoughts;
      break;
    }
  }
  if (!request.tools.empty()) parse_part(request.tools, "tools", true);
  if (!request.documents.empty()) parse_part(request.documents, "documents", true);
  if (!request.variables.empty()) parse_part(request.variables, "variables", false);
  ChatRequest complete = request;
  complete.messages = messages.dump();
  return complete;
}

}  // namespace halftone::lm
