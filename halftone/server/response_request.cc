// SPDX-License-Identifier: Apache-2.0
#include "halftone/server/response_request.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "halftone/server/request_members.h"

namespace halftone::server {
namespace {

using internal::fail_member;
using internal::member_of;
using internal::take;

constexpr const char* kUnknown = "unknown_parameter";

[[noreturn]] void fail_item(const std::string& where, const std::string& expected) {
  throw RequestError(400, where + ": expected " + expected, "input", "unsupported_parameter");
}

std::string text_member(const Json& item, const char* name, const std::string& where) {
  const Json value = item.value(name, Json());
  if (!value.is_string()) fail_item(where + "." + name, "a text");
  return value.get<std::string>();
}

/// The text of a content: a text, or parts that are texts.
std::string text_of(const Json& content, const std::string& where) {
  if (content.is_string()) return content.get<std::string>();
  if (!content.is_array()) fail_item(where, "a text or a list of parts");
  std::string text;
  for (const Json& part : content) {
    const Json type = member_of(part, "type");
    const Json found = member_of(part, type == "refusal" ? "refusal" : "text");
    const bool is_text =
        type == "input_text" || type == "output_text" || type == "text" || type == "refusal";
    if (!is_text || !found.is_string()) {
      fail_item(where, "parts of type input_text or output_text, which this server reads only");
    }
    text += found.get<std::string>();
  }
  return text;
}

/// A message to which calls are added: the last one, if it is the model's, else a new one.
Json& message_of_calls(Json& messages) {
  if (messages.empty() || messages.back()["role"] != "assistant") {
    messages.push_back({{"role", "assistant"}, {"content", nullptr}});
  }
  Json& message = messages.back();
  if (!message.contains("tool_calls")) message["tool_calls"] = Json::array();
  return message;
}

void add_item(const Json& item, const std::string& where, Json& messages) {
  if (!item.is_object()) fail_item(where, "an object");
  const Json type = item.value("type", Json("message"));
  if (type == "message") {
    messages.push_back({{"role", text_member(item, "role", where)},
                        {"content", text_of(item.value("content", Json()), where + ".content")}});
  } else if (type == "function_call") {
    const Json function = {{"name", text_member(item, "name", where)},
                           {"arguments", text_member(item, "arguments", where)}};
    message_of_calls(messages)["tool_calls"].push_back({{"id", text_member(item, "call_id", where)},
                                                        {"type", "function"},
                                                        {"function", function}});
  } else if (type == "function_call_output") {
    messages.push_back({{"role", "tool"},
                        {"tool_call_id", text_member(item, "call_id", where)},
                        {"content", text_of(item.value("output", Json()), where + ".output")}});
  } else if (type != "reasoning") {  // which no template here takes
    fail_item(where, "the type message, function_call, function_call_output or reasoning");
  }
}

Json messages_of(Json& request) {
  const std::optional<Json> input = take(request, "input");
  Json messages = Json::array();
  if (const auto instructions = take(request, "instructions")) {
    if (!instructions->is_string()) fail_member("instructions", "a text");
    messages.push_back({{"role", "system"}, {"content", *instructions}});
  }
  if (input && input->is_string()) {
    messages.push_back({{"role", "user"}, {"content", *input}});
    return messages;
  }
  if (!input || !input->is_array() || input->empty()) {
    fail_member("input", "a text or a list of items");
  }
  for (std::size_t i = 0; i < input->size(); ++i) {
    add_item((*input)[i], "input[" + std::to_string(i) + "]", messages);
  }
  return messages;
}

/// {"type": "function", "name": ...} to {"type": "function", "function": {"name": ...}}.
Json nested(const Json& function) {
  if (member_of(function, "type") != "function") return function;  // which is refused later
  Json inner = function;
  inner.erase("type");
  return {{"type", "function"}, {"function", std::move(inner)}};
}

Json nested_list(const Json& functions) {
  if (!functions.is_array()) return functions;
  Json list = Json::array();
  for (const Json& each : functions) list.push_back(nested(each));
  return list;
}

Json choice_of(const Json& choice) {
  if (member_of(choice, "type") != "allowed_tools") return nested(choice);
  return {
      {"type", "allowed_tools"},
      {"allowed_tools",
       {{"mode", member_of(choice, "mode")}, {"tools", nested_list(member_of(choice, "tools"))}}}};
}

/// What "text" says of the form.
void take_text_form(Json& request) {
  std::optional<Json> text = take(request, "text");
  if (!text) return;
  if (!text->is_object()) fail_member("text", "an object");
  Json format = text->value("format", Json());
  if (format.is_null()) return;
  if (member_of(format, "type") == "json_schema") {
    format = {{"type", "json_schema"}, {"json_schema", std::move(format)}};
  }
  request["response_format"] = std::move(format);
}

/// Of members that need what this server does not keep.
void refuse_kept(Json& request) {
  for (const char* name : {"previous_response_id", "conversation", "prompt"}) {
    if (!take(request, name)) continue;
    throw RequestError(400,
                       std::string(name) + ": this server keeps no responses: send all in input",
                       name, "unsupported_parameter");
  }
  if (internal::take_flag(request, "background")) {
    throw RequestError(400, "background: this server answers at once only", "background",
                       "unsupported_parameter");
  }
  for (const char* name : {"messages", "n", "response_format"}) {
    if (!take(request, name)) continue;
    throw RequestError(
        400,
        std::string(name) + ": /v1/responses has input, one answer, and text.format in its place",
        name, kUnknown);
  }
}

void take_logprobs(Json& request) {
  const std::optional<Json> all = take(request, "include");
  if (all && !all->is_array()) fail_member("include", "a list of texts");
  const auto top = take(request, "top_logprobs");
  bool is_wanted = top && *top != 0;
  for (const Json& each : all.value_or(Json::array())) {
    is_wanted = is_wanted || each == "message.output_text.logprobs";
  }
  if (!is_wanted) return;
  request["logprobs"] = true;
  request["top_logprobs"] = top.value_or(Json(0));
}

}  // namespace

Json chat_of_response(Json request) {
  refuse_kept(request);
  request["messages"] = messages_of(request);
  take_text_form(request);
  take_logprobs(request);
  if (const auto most = take(request, "max_output_tokens")) request["max_tokens"] = *most;
  if (const auto tools = take(request, "tools")) request["tools"] = nested_list(*tools);
  if (const auto choice = take(request, "tool_choice")) request["tool_choice"] = choice_of(*choice);
  if (const auto user = take(request, "safety_identifier"); user && !request.contains("user")) {
    request["user"] = *user;
  }
  // Nothing is kept whatever it says, and what is too long is refused.
  for (const char* name : {"store", "truncation"}) (void)take(request, name);
  if (auto options = take(request, "stream_options")) {
    if (options->is_object()) (void)take(*options, "include_obfuscation");
    if (*options != Json::object()) request["stream_options"] = *options;
  }
  return request;
}

RequestError in_names_of_responses(const RequestError& error) {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kNames = {
      {{"messages", "input"},
       {"max_tokens", "max_output_tokens"},
       {"response_format", "text.format"}}};
  for (const auto& [chat, ours] : kNames) {
    if (error.param() != chat || error.code() == kUnknown) continue;
    std::string message = error.what();
    if (message.starts_with(chat)) message.replace(0, chat.size(), ours);
    return {error.status(), message, std::string(ours), error.code()};
  }
  return error;
}

Json repeated_members(const Json& request) {
  const std::array<std::pair<const char*, Json>, 11> all = {
      {{"instructions", nullptr},
       {"max_output_tokens", nullptr},
       {"metadata", Json::object()},
       {"parallel_tool_calls", true},
       {"reasoning", {{"effort", nullptr}, {"summary", nullptr}}},
       {"text", {{"format", {{"type", "text"}}}}},
       {"tool_choice", "auto"},
       {"tools", Json::array()},
       {"truncation", "disabled"},
       {"safety_identifier", nullptr},
       {"user", nullptr}}};
  Json members = {{"background", false}, {"previous_response_id", nullptr}, {"store", false}};
  for (const auto& [name, otherwise] : all) {
    const Json value = request.value(name, Json());
    members[name] = value.is_null() ? otherwise : value;
  }
  return members;
}

}  // namespace halftone::server
