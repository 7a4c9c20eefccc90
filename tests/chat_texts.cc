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
#include <iostream>
#include <nlohmann/json.hpp>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/chat/chat_template.h"

namespace {

using halftone::lm::ChatRole;
using halftone::lm::ChatTemplate;
using halftone::lm::Message;
using nlohmann::json;

json answer(const json& job) {
  const auto jinja = job["template"].get<std::string>();
  const ChatTemplate found = jinja.find('{') == std::string::npos ? ChatTemplate::named(jinja)
                                                                  : ChatTemplate::recognized(jinja);
  std::vector<Message> messages;
  for (const json& message : job["messages"]) {
    const std::string role = message["role"];
    messages.push_back({role == "system"      ? ChatRole::kSystem
                        : role == "assistant" ? ChatRole::kAssistant
                                              : ChatRole::kUser,
                        message["content"]});
  }
  return {
      {"name", found.name()},
      {"text",
       found.render(messages, {job["begin"], job["end"]}, job["adds_answer"].get<bool>()).text}};
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
