// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/family_writer.h"

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/lm/chat/chat_family.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {
namespace {

/// What Python's str.strip() leaves out.
bool is_python_space(char32_t c) {
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

/// Bytes of the white space that a text begins with.
std::size_t leading_space(std::string_view text) {
  std::size_t at = 0;
  while (at < text.size()) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0 || !is_python_space(utf8_code_point(text.substr(at)))) break;
    at += length;
  }
  return at;
}

std::size_t trailing_space(std::string_view text) {
  std::size_t end = text.size();
  for (std::size_t at = end; at-- > 0 && end - at <= 4;) {
    const std::string_view last = text.substr(at, end - at);
    if (utf8_length(last) != last.size() || !is_python_space(utf8_code_point(last))) continue;
    end = at;
  }
  return text.size() - end;
}

std::string_view without_newlines_before(std::string_view text) {
  return text.substr(std::min(text.find_first_not_of('\n'), text.size()));
}
std::string_view without_newlines_behind(std::string_view text) {
  return text.substr(0, text.find_last_not_of('\n') + 1);
}

constexpr std::string_view kThink = "<think>";
constexpr std::string_view kEndThink = "</think>";

/// Splits "<think>thoughts</think>answer" as Qwen 3's template does. @return {thoughts, answer}
std::pair<std::string_view, std::string_view> split_thoughts(std::string_view content) {
  const std::size_t end = content.find(kEndThink);
  if (end == std::string_view::npos) return {{}, content};
  std::string_view thoughts = without_newlines_behind(content.substr(0, end));
  const std::size_t begin = thoughts.rfind(kThink);
  if (begin != std::string_view::npos) thoughts.remove_prefix(begin + kThink.size());
  const std::string_view answer = content.substr(content.rfind(kEndThink) + kEndThink.size());
  return {without_newlines_before(thoughts), without_newlines_before(answer)};
}

/// Writes a conversation.
class FamilyText {
 public:
  FamilyText(const ChatFamily& family, const ChatMarks& marks) : family_(family), marks_(marks) {}

  /// Text of the template, with the marks in place of {bos} and {eos}.
  void add_template(std::string_view text) {
    while (!text.empty()) {
      const bool is_begin = text.starts_with("{bos}");
      if (is_begin || text.starts_with("{eos}")) {
        add(is_begin ? marks_.begin : marks_.end, true);
        text.remove_prefix(5);
      } else {
        add(text.substr(0, 1), true);
        text.remove_prefix(1);
      }
    }
  }
  void add_content(std::string_view text, bool trims) {
    const std::size_t begin = chat_.text.size();
    add(text, false);
    if (trims) trim_from(begin);
  }
  void add_system(std::string_view content, bool is_default) {
    add_template(family_.system.before);
    if (is_default) {
      add(content, true);
    } else {
      add_content(content, family_.system.trims);
    }
    add_template(family_.system.after);
  }
  /// @param system  to put in front of the content; null: nothing
  void add_user(std::string_view content, const std::string* system) {
    add_template(family_.user.before);
    const std::size_t begin = chat_.text.size();
    if (system != nullptr) add_system(*system, false);
    add_content(content, family_.user.trims);
    if (family_.trims_whole_user) trim_from(begin);
  }
  void add_assistant(std::string_view content, bool is_last, bool is_behind_query) {
    add_template(family_.assistant.before);
    if (family_.thinking == Thinking::kDropped) {
      const std::size_t end = content.rfind(kEndThink);
      if (end != std::string_view::npos) content.remove_prefix(end + kEndThink.size());
    } else if (family_.thinking == Thinking::kQwen3) {
      const auto [thoughts, answer] = split_thoughts(content);
      content = answer;
      if (is_behind_query && (is_last || !thoughts.empty())) {
        add_template("<think>\n");
        add_content(without_newlines_before(without_newlines_behind(thoughts)), false);
        add_template("\n</think>\n\n");
        content = without_newlines_before(content);
      }
    }
    add_content(content, family_.assistant.trims);
  }
  [[nodiscard]] ChatText take() { return std::move(chat_); }

 private:
  void add(std::string_view text, bool is_template) {
    chat_.text += text;
    chat_.is_template.resize(chat_.text.size(), is_template);
  }
  void trim_from(std::size_t begin) {
    const std::string_view text = std::string_view(chat_.text).substr(begin);
    const std::size_t behind = trailing_space(text);
    const std::size_t before = leading_space(text.substr(0, text.size() - behind));
    chat_.text.resize(chat_.text.size() - behind);
    chat_.text.erase(begin, before);
    chat_.is_template.resize(chat_.is_template.size() - behind);
    const auto first = chat_.is_template.begin() + static_cast<std::ptrdiff_t>(begin);
    chat_.is_template.erase(first, first + static_cast<std::ptrdiff_t>(before));
  }

  const ChatFamily& family_;
  const ChatMarks& marks_;
  ChatText chat_;
};

void check_messages(const ChatFamily& family, std::span<const Message> messages) {
  const bool has_system = messages.front().role == ChatRole::kSystem;
  if (has_system && family.system_use == SystemUse::kNone)
    fail(ErrorKind::kUnsupported, "this model has no system messages; leave it out");
  messages = messages.subspan(has_system ? 1 : 0);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    if (messages[i].role == ChatRole::kSystem)
      fail(ErrorKind::kUsage, "expected a system message as the first only");
    if (family.alternates && (messages[i].role == ChatRole::kUser) != (i % 2 == 0))
      fail(ErrorKind::kUsage, "expected messages of the user and the assistant in turn");
  }
}

/// One behind the last message of the user, or behind all if there is none.
std::size_t end_of_queries(std::span<const Message> messages) {
  const auto last =
      std::ranges::find(messages.rbegin(), messages.rend(), ChatRole::kUser, &Message::role);
  return last == messages.rend() ? messages.size()
                                 : static_cast<std::size_t>(messages.rend() - last);
}

/// The messages behind the system message.
/// @param system       null: there is none
/// @param closes_last  whether the last message has its end
void write_messages(FamilyText& writer, const ChatFamily& family, std::span<const Message> messages,
                    const std::string* system, bool closes_last) {
  const std::size_t queries = end_of_queries(messages);
  for (std::size_t i = 0; i < messages.size(); ++i) {
    const bool is_user = messages[i].role == ChatRole::kUser;
    const bool is_last = i + 1 == messages.size();
    const bool is_system_here = (family.system_use == SystemUse::kFirstUser && i == 0) ||
                                (family.system_use == SystemUse::kLastUser && is_last);
    if (is_user) {
      writer.add_user(messages[i].content, is_system_here ? system : nullptr);
    } else {
      writer.add_assistant(messages[i].content, is_last, i >= queries);
    }
    if (!is_last || closes_last)
      writer.add_template(is_user ? family.user.after : family.assistant.after);
  }
}

class FamilyWriter : public ChatTemplate::Writer {
 public:
  explicit FamilyWriter(const ChatFamily& family) : family_(family) {}

  [[nodiscard]] std::string_view name() const override { return family_.name; }
  [[nodiscard]] std::string end_of_turn(const ChatMarks& /*marks*/) const override {
    return family_.end_of_turn;
  }

  [[nodiscard]] ChatText write(const ChatRequest& request, const ChatMarks& marks) const override {
    const std::vector<Message> all = plain_messages(request);
    std::span<const Message> messages = all;
    const bool adds_answer = request.adds_answer;
    check_messages(family_, messages);
    FamilyText writer(family_, marks);
    writer.add_template(family_.begin);
    const std::string* system = nullptr;
    if (messages.front().role == ChatRole::kSystem) {
      system = &messages.front().content;
      messages = messages.subspan(1);
    }
    const bool has_system = system != nullptr || family_.default_system;
    if (family_.system_use == SystemUse::kTurn && has_system) {
      writer.add_system(system != nullptr ? *system : *family_.default_system, system == nullptr);
    }
    write_messages(writer, family_, messages, system, adds_answer || !family_.leaves_last_open);
    writer.add_template(adds_answer ? family_.answer : family_.no_answer);
    return writer.take();
  }

 private:
  ChatFamily family_;
};

}  // namespace

std::shared_ptr<const ChatTemplate::Writer> family_writer(const ChatFamily& family) {
  return std::make_shared<const FamilyWriter>(family);
}

}  // namespace halftone::lm
