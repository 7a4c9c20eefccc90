// SPDX-License-Identifier: Apache-2.0
// A template is recognized or refused; one that is writes a conversation whose template bytes are
// marked, byte for byte.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/chat/chat_template.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using halftone::lm::ChatRole;
  using halftone::lm::Message;
  const std::string_view jinja(reinterpret_cast<const char*>(data), size);
  const std::string content(jinja.substr(0, 40));
  try {
    const auto found = halftone::lm::ChatTemplate::recognized(jinja);
    const std::vector<Message> messages{
        {ChatRole::kUser, content}, {ChatRole::kAssistant, content}, {ChatRole::kUser, content}};
    const auto chat = found.render(messages, {"<s>", "</s>"});
    if (chat.text.size() != chat.is_template.size()) __builtin_trap();
  } catch (const halftone::Error&) {
    return 0;
  }
  return 0;
}
