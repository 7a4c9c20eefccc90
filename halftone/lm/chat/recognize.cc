// SPDX-License-Identifier: Apache-2.0
// Finds the family of a Jinja template by its marks. A template that has marks of a family and
// something else that this family lacks (thinking, trimmed contents) is not recognized: text that
// a model does not know would be a silent error.
#include <algorithm>

#include "halftone/lm/chat/chat_family.h"

namespace halftone::lm {
namespace {

/// The text of a template. Line feeds are written "\n" or as they are, also within literals; here
/// they are as they are.
class Jinja {
 public:
  explicit Jinja(std::string_view text) {
    for (std::size_t i = 0; i < text.size(); ++i) {
      const bool is_line_feed = text.substr(i, 2) == "\\n";
      text_ += is_line_feed ? '\n' : text[i];
      if (is_line_feed) ++i;
    }
  }

  [[nodiscard]] bool has(std::string_view part) const {
    return text_.find(part) != std::string_view::npos;
  }
  /// Whether it begins with the output of bos_token.
  [[nodiscard]] bool begins_with_bos() const {
    std::string_view rest = text_;
    const auto skip = [&](std::string_view characters) {
      rest.remove_prefix(std::min(rest.find_first_not_of(characters), rest.size()));
    };
    skip(" \n");
    if (!rest.starts_with("{{")) return false;
    rest.remove_prefix(2);
    skip("- ");
    return rest.starts_with("bos_token");
  }
  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  std::string text_;
};

/// The text of a string literal with \t, \\ and quotes.
std::string unescaped(std::string_view literal) {
  std::string text;
  for (std::size_t i = 0; i < literal.size(); ++i) {
    if (literal[i] != '\\' || i + 1 == literal.size()) {
      text += literal[i];
    } else {
      const char escaped = literal[++i];
      text += escaped == 't' ? '\t' : escaped;
    }
  }
  return text;
}

/// The literal that `at` is in: from there to its closing quote; empty outside of one.
std::string_view rest_of_literal(std::string_view text, std::size_t at) {
  const std::size_t open = text.find_last_of("'\"", at);
  if (open == std::string_view::npos || text.substr(open, at - open).find('}') != text.npos)
    return {};
  std::size_t end = at;
  while (end < text.size() && text[end] != text[open]) end += text[end] == '\\' ? 2U : 1U;
  return end < text.size() ? text.substr(at, end - at) : std::string_view{};
}

/// Reads the message that ChatML has where no system message is: a whole one within a literal.
/// @return  whether all system messages are within literals, as they must be to be understood
bool read_default_system(std::string_view text, std::optional<std::string>& system) {
  constexpr std::string_view kBegin = "<|im_start|>system";
  for (std::size_t at = text.find(kBegin); at != std::string_view::npos;
       at = text.find(kBegin, at + 1)) {
    std::string_view literal = rest_of_literal(text, at);
    if (!literal.starts_with(std::string(kBegin) + "\n")) return false;
    literal.remove_prefix(kBegin.size() + 1);
    const std::size_t end = literal.find("<|im_end|>");
    if (end != std::string_view::npos) system = unescaped(literal.substr(0, end));
  }
  return true;
}

std::optional<ChatFamily> chat_markup_of(const Jinja& jinja) {
  if (!jinja.has("<|im_end|>") || jinja.has("render_content")) return std::nullopt;
  if (jinja.has("<|im_sep|>")) return chat_family("phi4");
  if (jinja.has("last_query_index")) return chat_family("qwen3");
  if (jinja.has("think>") || jinja.has("trim") || jinja.has("strip")) return std::nullopt;
  ChatFamily family = chat_family("chatml");
  if (!read_default_system(jinja.text(), family.default_system)) return std::nullopt;
  for (const ChatFamily& known : chat_families()) {
    const bool is_same = family.default_system && known.end_of_turn == family.end_of_turn &&
                         known.default_system == family.default_system;
    if (is_same) family.name = known.name;
  }
  if (jinja.begins_with_bos()) {
    family.begin = "{bos}";
  } else if (jinja.has("bos_token")) {
    return std::nullopt;
  }
  family.leaves_last_open = jinja.has("(loop.last and add_generation_prompt) or not loop.last");
  return family;
}

std::optional<ChatFamily> llama3_of(const Jinja& jinja) {
  if (jinja.has("think")) return std::nullopt;
  if (jinja.has("Cutting Knowledge Date")) return chat_family("llama3.1");
  ChatFamily family = chat_family("llama3");
  if (!jinja.has("bos_token")) family.begin = "";
  const bool trims = jinja.has("trim");
  family.system.trims = family.user.trims = family.assistant.trims = trims;
  return family;
}

std::optional<ChatFamily> gemma_of(const Jinja& jinja) {
  if (!jinja.has("trim")) return std::nullopt;
  if (jinja.has("first_user_prefix")) return chat_family("gemma3");
  if (jinja.has("System role not supported")) return chat_family("gemma");
  return std::nullopt;
}

std::optional<ChatFamily> bars_of(const Jinja& jinja) {
  const auto plain = [&](const char* name) -> std::optional<ChatFamily> {
    return jinja.has("think") || jinja.has("trim") ? std::nullopt
                                                   : std::optional(chat_family(name));
  };
  if (jinja.has("'<|' + message['role'] + '|>' + message['content'] + '<|end|>'"))
    return plain("phi4-mini");
  if (jinja.has("<|end|>")) {
    if (jinja.has("'<|end|>' + '\n' + '<|assistant|>' + '\n'")) return plain("phi3-first");
    const bool is_third = jinja.has("<|system|>\n") && jinja.has("<|user|>\n") &&
                          jinja.has("{% else %}{{ eos_token }}") && !jinja.has("bos_token");
    return is_third ? plain("phi3") : std::nullopt;
  }
  const bool is_zephyr = jinja.has("message['content'] + eos_token }}") &&
                         jinja.has("<|user|>\n") && !jinja.has("bos_token");
  return is_zephyr ? plain("zephyr") : std::nullopt;
}

/// Mistral's templates that know system messages and tools.
std::optional<ChatFamily> later_mistral_of(const Jinja& jinja) {
  const bool is_first = jinja.has("\" [INST] \"") || jinja.has("' [INST] '");
  const bool is_tekken = jinja.has("\"[INST]\"");
  ChatFamily family = chat_family(is_first    ? "mistral-v1"
                                  : is_tekken ? "mistral-tekken"
                                              : "mistral-v3");
  family.assistant.trims = jinja.has("|trim + eos_token") || jinja.has("| trim + eos_token");
  if (jinja.has("loop.first and system_message")) {
    family.system_use = SystemUse::kFirstUser;
  } else if (jinja.has("loop.last and system_message")) {
    family.system_use = SystemUse::kLastUser;
  } else {
    return std::nullopt;
  }
  return family;
}

std::optional<ChatFamily> instructions_of(const Jinja& jinja) {
  if (jinja.has("[SYSTEM_PROMPT]") || jinja.has("think")) return std::nullopt;
  if (jinja.has("system_message + \"\n\n\"") || jinja.has("system_message + '\n\n'"))
    return later_mistral_of(jinja);
  if (jinja.has("<<SYS>>")) {
    const bool is_llama2 = jinja.has("bos_token + '[INST] ' + content.strip() + ' [/INST]'") &&
                           (jinja.has("' '  + content.strip() + ' ' + eos_token") ||
                            jinja.has("' ' + content.strip() + ' ' + eos_token"));
    return is_llama2 ? std::optional(chat_family("llama2")) : std::nullopt;
  }
  const bool is_mistral = jinja.begins_with_bos() && !jinja.has("strip") && !jinja.has("trim") &&
                          jinja.has("'[INST] ' + message['content'] + ' [/INST]'");
  if (!is_mistral) return std::nullopt;
  ChatFamily family = chat_family("mistral");
  if (jinja.has("eos_token + ' '") || jinja.has("eos_token+' '")) family.assistant.after = "{eos} ";
  return family;
}

std::optional<ChatFamily> bitnet_of(const Jinja& jinja) {
  if (!jinja.has("capitalize + ': '") || !jinja.has("trim")) return std::nullopt;
  ChatFamily family = chat_family("bitnet");
  if (jinja.has("bos_token")) family.begin = "{bos}";
  return family;
}

std::optional<ChatFamily> deepseek_of(const Jinja& jinja) {
  if (!jinja.has("split('</think>')[-1]") || !jinja.has("bos_token")) return std::nullopt;
  ChatFamily family = chat_family("deepseek-r1");
  if (!jinja.has("<think>\n")) family.answer = family.assistant.before;
  return family;
}

}  // namespace

std::optional<ChatFamily> recognize_chat_family(std::string_view text) {
  const Jinja jinja(text);
  if (jinja.has("<|im_start|>")) return chat_markup_of(jinja);
  if (jinja.has("<|start_header_id|>")) return llama3_of(jinja);
  if (jinja.has("<start_of_turn>")) return gemma_of(jinja);
  if (jinja.has("[INST]")) return instructions_of(jinja);
  if (jinja.has("<\xEF\xBD\x9CUser\xEF\xBD\x9C>")) return deepseek_of(jinja);
  if (jinja.has("<|eot_id|>")) return bitnet_of(jinja);
  if (jinja.has("<|user|>") || jinja.has("'<|' + message['role']")) return bars_of(jinja);
  return std::nullopt;
}

}  // namespace halftone::lm
