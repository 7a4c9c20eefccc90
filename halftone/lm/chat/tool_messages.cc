// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/tool_messages.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/json/json_text.h"

namespace halftone::lm {
namespace {

using ToolJson = nlohmann::ordered_json;

constexpr std::string_view kRule =
    "You may call functions to help with what the user asks. These are their descriptions:\n";
constexpr std::string_view kForm =
    "\nTo call a function, write a JSON object with its name and arguments within <tool_call> "
    "tags:\n<tool_call>\n{\"name\": <name of the function>, \"arguments\": <object>}\n</tool_call>";

ToolJson parse_list(const std::string& text, const char* what) {
  with_context(what, [&] { check_json(text); });
  ToolJson list = ToolJson::parse(text);
  const bool is_good = list.is_array() && std::all_of(list.begin(), list.end(),
                                                      [](const auto& e) { return e.is_object(); });
  if (!is_good) fail(ErrorKind::kFormat, std::string(what) + ": expected a list of objects");
  return list;
}

std::string description_of(const ToolJson& tools) {
  std::string text = std::string(kRule) + std::string(kToolsMark) + "\n";
  for (const ToolJson& tool : tools) text += tool.dump() + "\n";
  return text + "</tools>" + std::string(kForm);
}

bool has_role(const ToolJson& message, std::string_view role) {
  return message.value("role", ToolJson()) == role;
}

std::string content_of(const ToolJson& message) {
  const auto content = message.find("content");
  if (content == message.end() || content->is_null()) return "";
  return content->is_string() ? content->get<std::string>() : content->dump();
}

std::string text_of_call(const ToolJson& call) {
  const ToolJson function = call.is_object() ? call.value("function", ToolJson()) : ToolJson();
  if (!function.is_object()) fail(ErrorKind::kFormat, "tool_calls: expected calls of functions");
  return "<tool_call>\n{\"name\": " + function.value("name", ToolJson()).dump() +
         ", \"arguments\": " + function.value("arguments", ToolJson::object()).dump() +
         "}\n</tool_call>";
}

/// Puts the calls of an answer behind its content.
void write_calls(ToolJson& message) {
  const ToolJson calls = std::move(message["tool_calls"]);
  message.erase("tool_calls");
  std::string text = content_of(message);
  if (!calls.is_array()) return;
  for (const ToolJson& call : calls) text += (text.empty() ? "" : "\n") + text_of_call(call);
  message["content"] = text;
}

/// The messages with results of calls as messages of the user, one for all that follow each other.
ToolJson with_results(const ToolJson& messages) {
  ToolJson all = ToolJson::array();
  bool is_behind_result = false;
  for (ToolJson message : messages) {
    const bool is_result = has_role(message, "tool");
    if (message.contains("tool_calls")) write_calls(message);
    if (is_result) {
      const std::string text = "<tool_response>\n" + content_of(message) + "\n</tool_response>";
      message = {{"role", "user"}, {"content", text}};
    }
    if (is_result && is_behind_result) {
      all.back()["content"] = content_of(all.back()) + "\n" + content_of(message);
    } else {
      all.push_back(std::move(message));
    }
    is_behind_result = is_result;
  }
  return all;
}

void describe(const std::string& text, ToolPlace place, ToolJson& messages) {
  if (place == ToolPlace::kUser) {
    for (ToolJson& message : messages) {
      if (!has_role(message, "user")) continue;
      message["content"] = text + "\n\n" + content_of(message);
      return;
    }
  }
  if (messages.empty() || !has_role(messages[0], "system")) {
    messages.insert(messages.begin(), ToolJson{{"role", "system"}, {"content", text}});
  } else {
    messages[0]["content"] = content_of(messages[0]) + "\n\n" + text;
  }
}

}  // namespace

ChatRequest with_tools_as_text(const ChatRequest& request, ToolPlace place) {
  ToolJson messages = with_results(parse_list(request.messages, "messages"));
  if (!request.tools.empty()) {
    describe(description_of(parse_list(request.tools, "tools")), place, messages);
  }
  ChatRequest plain = request;
  plain.messages = messages.dump();
  plain.tools.clear();
  return plain;
}

}  // namespace halftone::lm
