// SPDX-License-Identifier: Apache-2.0
// Texts of conversations, for a test that compares them with those of Jinja:
//
//     chat_texts < JOBS
//
// reads lines of JSON,
//
//     {"template", "begin", "end", "adds_answer", "messages": [{"role", "content"}]}
//
// and writes for each {"name", "text"} or {"error"}. The template is Jinja or the name of a family.
// Jobs {"template", "variables", "now"} give a template in Jinja its variables, and the seconds
// since 1970 in UTC for the time. Jobs {"template", "functions", "ends", "answer", "as_text"} have
// an answer read for calls: {"content", "calls": [[name, arguments]]}; functions are {"name",
// "parameters"}, and as_text says whether they are texts of messages.
#include <ctime>
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/chat/chat_template.h"
#include "halftone/lm/chat/jinja/json.h"
#include "halftone/lm/chat/jinja/template.h"
#include "halftone/lm/tools/tool_call_reader.h"

namespace {

using halftone::lm::ChatRole;
using halftone::lm::ChatTemplate;
using halftone::lm::Message;
using json = nlohmann::ordered_json;

json text_with_variables(const json& job) {
  namespace jinja = halftone::lm::jinja;
  jinja::Variables variables;
  for (const auto& [name, value] : job["variables"].items()) {
    variables.emplace_back(name, jinja::from_json(value.dump(), true));
  }
  const std::time_t now = job["now"].get<std::time_t>();
  std::tm time{};
  ::gmtime_r(&now, &time);
  const jinja::Template found(job["template"].get<std::string>());
  return {{"text", jinja::to_utf8_text(found.render(variables, time))}};
}

json calls_of(const json& job) {
  const ChatTemplate found = ChatTemplate::parsed(job["template"].get<std::string>());
  const std::vector<std::string> ends = job["ends"];
  std::vector<halftone::lm::ToolFunction> functions;
  for (const json& each : job["functions"]) {
    functions.push_back({each["name"], each["parameters"].dump()});
  }
  halftone::lm::ToolCallReader reader(
      halftone::lm::tool_notation(found, {"<s>", "</s>"}, ends, job.value("as_text", false)),
      functions, false);
  json result = {{"content", ""}, {"calls", json::array()}};
  const auto note = [&](const halftone::lm::ToolText& text) {
    result["content"] = result["content"].get<std::string>() + text.content;
    for (const auto& call : text.calls) result["calls"].push_back({call.name, call.arguments});
  };
  for (const char byte : job["answer"].get<std::string>()) note(reader.push({&byte, 1}));
  note(reader.finish());
  return result;
}

json answer(const json& job) {
  if (job.contains("functions")) return calls_of(job);
  if (job.contains("variables")) return text_with_variables(job);
  const auto jinja = job["template"].get<std::string>();
  const ChatTemplate found = jinja.find('{') == std::string::npos ? ChatTemplate::named(jinja)
                                                                  : ChatTemplate::parsed(jinja);
  std::vector<Message> messages;
  for (const json& message : job["messages"]) {
    const std::string role = message["role"];
    messages.push_back({role == "system"      ? ChatRole::kSystem
                        : role == "assistant" ? ChatRole::kAssistant
                                              : ChatRole::kUser,
                        message["content"]});
  }
  const auto request = halftone::lm::chat_request(messages, job["adds_answer"].get<bool>());
  return {{"name", found.name()}, {"text", found.render(request, {job["begin"], job["end"]}).text}};
}

}  // namespace

int main() {
  for (std::string line; std::getline(std::cin, line);) {
    try {
      std::cout << answer(json::parse(line)).dump() << '\n';
    } catch (const halftone::Error& error) {
      std::cout << json{{"error", error.what()}}.dump() << '\n';
    }
  }
  return 0;
}
