// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/chat_template.h"

#include <algorithm>
#include <array>

#include "halftone/base/error.h"
#include "halftone/lm/chat/family_writer.h"
#include "halftone/lm/chat/jinja_writer.h"
#include "halftone/lm/chat/tool_messages.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm {

ChatMarks chat_marks(const Tokenizer& tokenizer) {
  const auto text = [&](TokenId token) {
    return token == kNoToken ? std::string() : tokenizer.vocabulary().token(token).text;
  };
  return {text(tokenizer.begin()), text(tokenizer.end())};
}

std::vector<std::string_view> ChatTemplate::names() {
  std::vector<std::string_view> names;
  for (const ChatFamily& family : chat_families()) names.emplace_back(family.name);
  return names;
}

ChatTemplate ChatTemplate::named(std::string_view name) {
  std::string known;
  for (const ChatFamily& family : chat_families()) {
    if (family.name == name) return ChatTemplate(family_writer(family));
    known += (known.empty() ? "" : ", ") + family.name;
  }
  fail(ErrorKind::kUnsupported, "chat template: expected a file with one in Jinja, or one of " +
                                    known + "; found '" + std::string(name) + "'");
}

ChatTemplate ChatTemplate::parsed(std::string_view source) {
  return with_context("chat template", [&] { return ChatTemplate(jinja_writer(source)); });
}

namespace {

/// What transformers puts behind the message to continue, and looks for in the text.
constexpr std::string_view kEndMark = "CONTINUE_FINAL_MESSAGE_TAG ";

/// The text up to the mark; without white space at its end if the template left it out behind the
/// mark.
ChatText up_to_mark(ChatText chat) {
  const std::string_view word = kEndMark.substr(0, kEndMark.size() - 1);
  const std::size_t at = chat.text.rfind(word);
  if (at == std::string::npos) {
    fail(ErrorKind::kUsage, "does not write the message to continue");
  }
  const bool keeps_space = std::string_view(chat.text).substr(at).starts_with(kEndMark);
  const std::size_t last =
      std::string_view(chat.text).substr(0, at).find_last_not_of(" \t\n\r\f\v");
  chat.text.resize(keeps_space ? at : last + 1);
  chat.is_template.resize(chat.text.size());
  return chat;
}

/// The text of a conversation whose functions are in contents: of the system, or of the user where
/// the template has no system.
ChatText write_with_tools(const ChatTemplate::Writer& writer, const ChatRequest& request,
                          const ChatMarks& marks) {
  if (request.tools.empty()) {
    return writer.write(with_tools_as_text(request, ToolPlace::kUser), marks);
  }
  try {
    ChatText chat = writer.write(with_tools_as_text(request, ToolPlace::kSystem), marks);
    if (chat.text.find(kToolsMark) != std::string::npos) return chat;
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kUsage && error.kind() != ErrorKind::kUnsupported) throw;
  }
  return writer.write(with_tools_as_text(request, ToolPlace::kUser), marks);
}

ChatText text_by(const ChatTemplate::Writer& writer, const ChatRequest& request,
                 const ChatMarks& marks) {
  return request.tools_as_text ? write_with_tools(writer, request, marks)
                               : writer.write(request, marks);
}

/// Names of functions of one length, without a beginning in common.
constexpr std::array<std::string_view, 2> kCalled = {"name_of_function", "function_of_name"};

/// The text of a conversation up to the name of a function that is called: calls of two names
/// differ first there.
ChatText up_to_call(const ChatTemplate::Writer& writer, const ChatRequest& request,
                    const ChatMarks& marks) {
  const auto text_of = [&](std::string_view name, const std::string& id) {
    ChatRequest calling = with_call(request, name, id);
    calling.adds_answer = false;
    return text_by(writer, calling, marks);
  };
  // Mistral's templates take ids of nine letters and digits only; with others the id has the name.
  for (const bool has_name : {false, true}) {
    const auto id_of = [&](std::string_view name) {
      return has_name ? "functions." + std::string(name) + ":0" : "call00000";
    };
    ChatText chat = text_of(kCalled[0], id_of(kCalled[0]));
    const std::string other = text_of(kCalled[1], id_of(kCalled[1])).text;
    const auto at =
        static_cast<std::size_t>(std::ranges::mismatch(chat.text, other).in1 - chat.text.begin());
    if (at == chat.text.size()) continue;
    chat.text.resize(at);
    chat.is_template.resize(at);
    return chat;
  }
  fail(ErrorKind::kUsage, "does not write calls of functions");
}

}  // namespace

ChatText ChatTemplate::render(const ChatRequest& request, const ChatMarks& marks) const {
  const std::string context =
      name() == "jinja" ? "chat template" : "chat template " + std::string(name());
  return with_context(context, [&] {
    const ChatRequest complete = with_thoughts(request);
    if (complete.messages == "[]") fail(ErrorKind::kUsage, "expected a message, found none");
    if (request.begins_call) return up_to_call(*writer_, complete, marks);
    if (!request.continues_last) return text_by(*writer_, complete, marks);
    ChatRequest marked = with_end_mark(complete, kEndMark);
    marked.adds_answer = false;
    return up_to_mark(text_by(*writer_, marked, marks));
  });
}

std::vector<TokenId> encode(const Tokenizer& tokenizer, const ChatText& chat) {
  std::vector<TokenId> tokens = tokenizer.encode("", {.end = false});
  const std::vector<TokenId> text = tokenizer.encode(
      chat.text, {.begin = false, .end = false, .control = true, .trusted = &chat.is_template});
  const bool has_begin = !tokens.empty() && !text.empty() && text.front() == tokens.back();
  tokens.insert(tokens.end(), text.begin() + (has_begin ? 1 : 0), text.end());
  return tokens;
}

}  // namespace halftone::lm
