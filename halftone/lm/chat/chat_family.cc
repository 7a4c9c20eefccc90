// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/chat_family.h"

#include <vector>

namespace halftone::lm {
namespace {

const std::string kImEnd = "<|im_end|>";

ChatFamily chat_markup(const std::string& name, std::optional<std::string> default_system = {}) {
  const auto turn = [](const std::string& role) {
    return ChatTurn{"<|im_start|>" + role + "\n", kImEnd + "\n"};
  };
  ChatFamily family{name, kImEnd, "", turn("system"), turn("user"), turn("assistant")};
  family.answer = "<|im_start|>assistant\n";
  family.default_system = std::move(default_system);
  return family;
}

ChatFamily qwen3() {
  ChatFamily family = chat_markup("qwen3");
  family.thinking = Thinking::kQwen3;
  return family;
}

ChatFamily llama2() {
  ChatFamily family{"llama2", "</s>", ""};
  family.system = {"<<SYS>>\n", "\n<</SYS>>\n\n"};
  family.user = {"{bos}[INST] ", " [/INST]"};
  family.assistant = {" ", " {eos}", true};
  family.system_use = SystemUse::kFirstUser;
  family.trims_whole_user = true;
  family.alternates = true;
  return family;
}

ChatFamily llama3() {
  const auto turn = [](const std::string& role) {
    return ChatTurn{"<|start_header_id|>" + role + "<|end_header_id|>\n\n", "<|eot_id|>", true};
  };
  ChatFamily family{"llama3",       "<|eot_id|>", "{bos}",
                    turn("system"), turn("user"), turn("assistant")};
  family.answer = family.assistant.before;
  return family;
}

/// Its template has a system message always, with dates. The second one is the one that it has
/// where no clock is: texts do not depend on the day.
ChatFamily llama31() {
  ChatFamily family = llama3();
  family.name = "llama3.1";
  family.system.before += "Cutting Knowledge Date: December 2023\nToday Date: 26 Jul 2024\n\n";
  family.default_system = "";
  return family;
}

ChatFamily mistral(const std::string& name, const ChatTurn& user, const ChatTurn& assistant) {
  ChatFamily family{name, "</s>", "{bos}", {"", "\n\n"}, user, assistant};
  family.system_use = SystemUse::kLastUser;
  family.alternates = true;
  return family;
}

/// Of Mistral's first files, without system messages.
ChatFamily first_mistral() {
  ChatFamily family = mistral("mistral", {"[INST] ", " [/INST]"}, {"", "{eos}"});
  family.system_use = SystemUse::kNone;
  return family;
}

ChatFamily mistral_v1() {
  ChatFamily family = mistral("mistral-v1", {" [INST] ", " [/INST]"}, {" ", "{eos}"});
  family.system_use = SystemUse::kFirstUser;
  return family;
}

ChatFamily gemma3() {
  ChatFamily family{"gemma3", "<end_of_turn>", "{bos}", {"", "\n\n"}};
  family.user = {"<start_of_turn>user\n", "<end_of_turn>\n", true};
  family.assistant = {"<start_of_turn>model\n", "<end_of_turn>\n", true};
  family.answer = family.assistant.before;
  family.system_use = SystemUse::kFirstUser;
  family.alternates = true;
  return family;
}

ChatFamily gemma() {
  ChatFamily family = gemma3();
  family.name = "gemma";
  family.system_use = SystemUse::kNone;
  return family;
}

/// Roles as "<|user|>".
ChatFamily bars(const std::string& name, const std::string& behind_role, const std::string& after) {
  const auto turn = [&](const std::string& role) {
    return ChatTurn{"<|" + role + "|>" + behind_role, after};
  };
  ChatFamily family{name, "<|end|>", "", turn("system"), turn("user"), turn("assistant")};
  family.answer = family.assistant.before;
  return family;
}

ChatFamily phi3(const std::string& name, const std::string& behind_role, const std::string& after) {
  ChatFamily family = bars(name, behind_role, after);
  family.no_answer = "{eos}";
  return family;
}

/// Of Phi-3's first files: every message of the user begins the answer.
ChatFamily first_phi3() {
  ChatFamily family{"phi3-first", "<|end|>", "{bos}"};
  family.user = {"<|user|>\n", "<|end|>\n<|assistant|>\n"};
  family.assistant = {"", "<|end|>\n"};
  family.system_use = SystemUse::kNone;
  return family;
}

ChatFamily phi4() {
  const auto turn = [](const std::string& role) {
    return ChatTurn{"<|im_start|>" + role + "<|im_sep|>", kImEnd};
  };
  ChatFamily family{"phi4", kImEnd, "", turn("system"), turn("user"), turn("assistant")};
  family.answer = family.assistant.before;
  return family;
}

ChatFamily zephyr() {
  ChatFamily family = bars("zephyr", "\n", "{eos}\n");
  family.end_of_turn = "</s>";
  return family;
}

ChatFamily bitnet() {
  const auto turn = [](const std::string& role) {
    return ChatTurn{role + ": ", "<|eot_id|>", true};
  };
  ChatFamily family{"bitnet", "<|eot_id|>", "", turn("System"), turn("User"), turn("Assistant")};
  family.answer = "Assistant: ";
  return family;
}

/// Its marks are written with U+FF5C and U+2581.
ChatFamily deepseek_r1() {
  const std::string bar = "\xEF\xBD\x9C";
  ChatFamily family{"deepseek-r1", "<" + bar + "end\xE2\x96\x81of\xE2\x96\x81sentence" + bar + ">",
                    "{bos}"};
  family.user = {"<" + bar + "User" + bar + ">", ""};
  family.assistant = {"<" + bar + "Assistant" + bar + ">", family.end_of_turn};
  family.answer = family.assistant.before + "<think>\n";
  family.thinking = Thinking::kDropped;
  return family;
}

std::vector<ChatFamily> all_families() {
  return {chat_markup("chatml"),
          chat_markup("smollm2",
                      "You are a helpful AI assistant named SmolLM, trained by Hugging "
                      "Face"),
          chat_markup("qwen2", "You are a helpful assistant."),
          chat_markup("qwen2.5",
                      "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."),
          qwen3(),
          llama2(),
          llama3(),
          llama31(),
          first_mistral(),
          mistral_v1(),
          mistral("mistral-v3", {"[INST] ", "[/INST]"}, {" ", "{eos}", true}),
          mistral("mistral-tekken", {"[INST]", "[/INST]"}, {"", "{eos}"}),
          gemma(),
          gemma3(),
          first_phi3(),
          phi3("phi3", "\n", "<|end|>\n"),
          phi4(),
          phi3("phi4-mini", "", "<|end|>"),
          zephyr(),
          bitnet(),
          deepseek_r1()};
}

}  // namespace

std::span<const ChatFamily> chat_families() {
  static const std::vector<ChatFamily> families = all_families();
  return families;
}

}  // namespace halftone::lm
