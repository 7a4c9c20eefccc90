// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/conversation_request.h"

#include <algorithm>
#include <string>
#include <utility>

#include "halftone/server/request_members.h"

namespace halftone::server {
namespace {

using internal::fail_member;
using internal::take;
using internal::take_flag;

constexpr std::size_t kMaxFunctions = 128;  // as OpenAI has it
constexpr std::size_t kMaxNameBytes = 64;

/// The text of a content: a text, or parts that are texts.
std::string content_text(const Json& content, const std::string& where) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) fail_member(where, "a text or a list of parts");
  for (const Json& part : content) {
    const bool is_text = part.is_object() && part.value("type", Json()) == "text" &&
                         part.value("text", Json()).is_string();
    if (!is_text) {
      throw RequestError(400, where + ": expected parts of type text, which this server reads only",
                         "messages", "unsupported_parameter");
    }
    text += part["text"].get<std::string>();
  }
  return text;
}

/// Arguments as templates take them: an object, which the protocol has as a text.
void read_arguments(Json& calls, const std::string& where) {
  const auto fail_calls = [&] {
    throw RequestError(400,
                       where +
                           ": expected calls of functions with a name and arguments, an object "
                           "in JSON as a text",
                       "messages");
  };
  if (!calls.is_array()) fail_calls();
  for (Json& call : calls) {
    const auto function = call.is_object() ? call.find("function") : call.end();
    if (!call.is_object() || function == call.end() || !function->is_object() ||
        !function->value("name", Json()).is_string()) {
      fail_calls();
    }
    Json& arguments = (*function)["arguments"];
    if (arguments.is_string()) {
      try {
        arguments = parse_body(arguments.get<std::string>());
      } catch (const RequestError&) {
        fail_calls();
      }
    }
    if (!arguments.is_object()) fail_calls();
  }
}

/// Clients send what they were answered, with null in place of what was absent; templates ask
/// whether a member is there.
void drop_nulls(Json& message) {
  Json kept = Json::object();
  for (auto& [name, value] : message.items()) {
    if (!value.is_null() || name == "content") kept[name] = std::move(value);
  }
  message = std::move(kept);
}

Json messages_of(Json& request) {
  std::optional<Json> messages = take(request, "messages");
  if (!messages || !messages->is_array() || messages->empty()) {
    fail_member("messages", "a list of messages");
  }
  for (std::size_t i = 0; i < messages->size(); ++i) {
    Json& message = (*messages)[i];
    const std::string where = "messages[" + std::to_string(i) + "]";
    const bool has_role = message.is_object() && message.value("role", Json()).is_string();
    if (!has_role) throw RequestError(400, where + ": expected an object with a role", "messages");
    drop_nulls(message);
    if (message["role"] == "developer") message["role"] = "system";
    if (message.contains("content") && !message["content"].is_null()) {
      message["content"] = content_text(message["content"], where + ".content");
    }
    if (message.contains("tool_calls")) {
      read_arguments(message["tool_calls"], where + ".tool_calls");
      // Clients have null there, which many templates do not take.
      if (message.value("content", Json()).is_null()) message["content"] = "";
    }
  }
  return *std::move(messages);
}

bool is_name(const Json& value) {
  const auto is_good = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  };
  if (!value.is_string()) return false;
  const auto& name = value.get_ref<const std::string&>();
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, is_good);
}

std::vector<lm::ToolFunction> functions_of(const Json& tools) {
  std::vector<lm::ToolFunction> functions;
  if (!tools.is_array() || tools.size() > kMaxFunctions) {
    fail_member("tools", "a list of at most " + std::to_string(kMaxFunctions) + " functions");
  }
  for (std::size_t i = 0; i < tools.size(); ++i) {
    const Json& tool = tools[i];
    const auto fail_tool = [i](const std::string& what) {
      throw RequestError(400, "tools[" + std::to_string(i) + "]: expected " + what, "tools");
    };
    if (!tool.is_object() || tool.value("type", Json()) != "function") {
      fail_tool("an object of type function");
    }
    const Json function = tool.value("function", Json());
    if (!function.is_object() || !is_name(function.value("name", Json()))) {
      fail_tool("a name of 1 to 64 letters, digits, '_' and '-'");
    }
    const Json parameters = function.value("parameters", Json());
    if (!parameters.is_null() && !parameters.is_object()) fail_tool("parameters, a JSON schema");
    functions.push_back(
        {function["name"].get<std::string>(), parameters.is_null() ? "" : parameters.dump()});
    for (std::size_t k = 0; k < i; ++k) {
      if (functions[k].name == functions[i].name) fail_tool("another name than that of another");
    }
  }
  return functions;
}

/// Leaves the function that an answer has to call.
void choose(const Json& choice, ToolUse& tools) {
  const Json function = choice.is_object() ? choice.value("function", Json()) : Json();
  const Json name = function.is_object() ? function.value("name", Json()) : Json();
  if (!name.is_string() || choice.value("type", Json()) != "function") {
    fail_member("tool_choice", "none, auto, required or {\"type\": \"function\", ...}");
  }
  std::erase_if(tools.functions, [&](const auto& each) { return name != each.name; });
  if (tools.functions.empty()) fail_member("tool_choice", "a function of tools");
  tools.is_required = true;
  tools.is_single = true;
}

void take_tools(Json& request, CompletionRequest& result) {
  const std::optional<Json> tools = take(request, "tools");
  const std::optional<Json> choice = take(request, "tool_choice");
  result.tools.is_single = !take_flag(request, "parallel_tool_calls", true);
  if (tools) result.tools.functions = functions_of(*tools);
  if (choice && *choice == "none") result.tools.functions.clear();
  if (choice && *choice == "required") {
    result.tools.is_required = true;
    if (result.tools.functions.empty()) fail_member("tool_choice", "tools beside 'required'");
  } else if (choice && *choice != "none" && *choice != "auto") {
    choose(*choice, result.tools);
  }
  // A model that may call no function is told of none.
  if (!result.tools.functions.empty()) result.conversation.tools = tools->dump();
  result.conversation.begins_call = result.tools.is_required;
}

}  // namespace

void take_conversation(Json& request, CompletionRequest& result) {
  result.conversation.messages = messages_of(request).dump();
  if (const auto documents = take(request, "documents")) {
    if (!documents->is_array()) fail_member("documents", "a list of objects");
    if (!documents->empty()) result.conversation.documents = documents->dump();
  }
  if (const auto variables = take(request, "chat_template_kwargs")) {
    if (!variables->is_object()) fail_member("chat_template_kwargs", "an object");
    result.conversation.variables = variables->dump();
  }
  take_tools(request, result);
}

}  // namespace halftone::server
