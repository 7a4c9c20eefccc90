// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/conversation_request.h"

#include <algorithm>
#include <string>
#include <utility>

#include "halftone/server/request_members.h"

namespace halftone::server {
namespace {

using internal::fail_member;
using internal::member_of;
using internal::take;
using internal::take_flag;

constexpr std::size_t kMaxFunctions = 128;  // as OpenAI has it
constexpr std::size_t kMaxNameBytes = 64;

[[noreturn]] void fail_message(const std::string& where, const std::string& expected,
                               const std::string& code = {}) {
  throw RequestError(400, where + ": expected " + expected, "messages", code);
}

/// The text of a content: a text, or parts that are texts.
std::string content_text(const Json& content, const std::string& where) {
  if (content.is_string()) return content.get<std::string>();
  std::string text;
  if (!content.is_array()) fail_message(where, "a text or a list of parts");
  for (const Json& part : content) {
    const Json type = member_of(part, "type");
    const Json found = member_of(part, type == "refusal" ? "refusal" : "text");
    if ((type != "text" && type != "refusal") || !found.is_string()) {
      fail_message(where, "parts of type text, which this server reads only",
                   "unsupported_parameter");
    }
    text += found.get<std::string>();
  }
  return text;
}

/// Arguments as templates take them: an object, which the protocol has as a text.
void read_arguments(Json& calls, const std::string& where) {
  const auto fail_calls = [&] {
    fail_message(where,
                 "calls of functions with a name and arguments, an object in JSON as a text");
  };
  if (!calls.is_array()) fail_calls();
  for (Json& call : calls) {
    const auto function = call.is_object() ? call.find("function") : call.end();
    if (!call.is_object() || function == call.end() || !function->is_object() ||
        !function->value("name", Json()).is_string()) {
      fail_calls();
    }
    Json& arguments = (*function)["arguments"];
    // A call without arguments is told of as "", too.
    const auto* text = arguments.get_ptr<const std::string*>();
    if (arguments.is_null() || (text != nullptr && text->empty())) arguments = Json::object();
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

/// Puts texts where templates expect them.
void read_message(Json& message, const std::string& where) {
  if (!message.is_object() || !message.value("role", Json()).is_string()) {
    fail_message(where, "an object with a role");
  }
  drop_nulls(message);
  if (message["role"] == "function" || message.contains("function_call")) {
    fail_message(where, "tool_calls and the role tool in place of function_call and function",
                 "unsupported_parameter");
  }
  if (message["role"] == "developer") message["role"] = "system";
  const Json content = message.value("content", Json());
  // Clients have null there beside calls and refusals, which many templates do not take.
  if (message["role"] == "assistant" && content.is_null()) {
    message["content"] = "";
  } else if (message.contains("content") || message["role"] == "user") {
    message["content"] = content_text(content, where + ".content");
  }
  if (message.contains("tool_calls")) read_arguments(message["tool_calls"], where + ".tool_calls");
}

Json messages_of(Json& request) {
  std::optional<Json> messages = take(request, "messages");
  if (!messages || !messages->is_array() || messages->empty()) {
    fail_member("messages", "a list of messages");
  }
  for (std::size_t i = 0; i < messages->size(); ++i) {
    read_message((*messages)[i], "messages[" + std::to_string(i) + "]");
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

/// Leaves functions that are named: [{"type": "function", "function": {"name": ...}}, ...].
void keep_functions(const Json& named, ToolUse& tools) {
  const auto is_named = [&](const lm::ToolFunction& function) {
    return std::any_of(named.begin(), named.end(), [&](const Json& each) {
      return member_of(member_of(each, "function"), "name") == function.name;
    });
  };
  std::erase_if(tools.functions, [&](const auto& each) { return !is_named(each); });
  if (tools.functions.size() < named.size()) fail_member("tool_choice", "functions of tools");
}

/// Leaves the functions that an answer may or has to call.
void choose(const Json& choice, ToolUse& tools) {
  const Json type = member_of(choice, "type");
  if (type == "function") {
    keep_functions(Json::array({choice}), tools);
    tools.is_required = true;
    tools.is_single = true;
    return;
  }
  const Json allowed = member_of(choice, "allowed_tools");
  const Json mode = member_of(allowed, "mode");
  const Json list = member_of(allowed, "tools");
  const bool is_list = type == "allowed_tools" && list.is_array() && !list.empty();
  if (!is_list || (mode != "auto" && mode != "required")) {
    fail_member("tool_choice",
                "none, auto, required, {\"type\": \"function\", ...} or {\"type\": "
                "\"allowed_tools\", ...}");
  }
  keep_functions(list, tools);
  tools.is_required = mode == "required";
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
  const Json messages = messages_of(request);
  result.tools.is_past = std::any_of(messages.begin(), messages.end(), [](const Json& message) {
    return message.contains("tool_calls") || message["role"] == "tool";
  });
  result.conversation.messages = messages.dump();
  if (const auto documents = take(request, "documents")) {
    if (!documents->is_array()) fail_member("documents", "a list of objects");
    if (!documents->empty()) result.conversation.documents = documents->dump();
  }
  if (const auto variables = take(request, "chat_template_kwargs")) {
    if (!variables->is_object()) fail_member("chat_template_kwargs", "an object");
    for (const char* name : {"messages", "tools", "documents", "add_generation_prompt"}) {
      if (!variables->contains(name)) continue;
      fail_member("chat_template_kwargs", "no " + std::string(name) + ", a member of the request");
    }
    result.conversation.variables = variables->dump();
  }
  lm::ChatRequest& chat = result.conversation;
  chat.continues_last = take_flag(request, "continue_final_message");
  chat.adds_answer = take_flag(request, "add_generation_prompt", !chat.continues_last);
  take_tools(request, result);
  if (chat.continues_last && (chat.adds_answer || chat.begins_call)) {
    fail_member("continue_final_message", "no add_generation_prompt and no call beside it");
  }
}

}  // namespace halftone::server
