// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/chat_template.h"

#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/lm/chat/family_writer.h"
#include "halftone/lm/chat/jinja_writer.h"
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

}  // namespace

ChatText ChatTemplate::render(const ChatRequest& request, const ChatMarks& marks) const {
  const std::string context =
      name() == "jinja" ? "chat template" : "chat template " + std::string(name());
  return with_context(context, [&] {
    const ChatRequest complete = with_thoughts(request);
    if (complete.messages == "[]") fail(ErrorKind::kUsage, "expected a message, found none");
    if (!request.continues_last) return writer_->write(complete, marks);
    ChatRequest marked = with_end_mark(complete, kEndMark);
    marked.adds_answer = false;
    return up_to_mark(writer_->write(marked, marks));
  });
}

std::vector<TokenId> encode(const Tokenizer& tokenizer, const ChatText& chat) {
  check_utf8(chat.text);
  std::vector<TokenId> tokens = tokenizer.encode("");
  const std::string_view text = chat.text;
  const std::size_t num_before = tokens.size();
  const auto add_plain = [&](std::size_t begin, std::size_t end) {
    const auto plain = tokenizer.encode(text.substr(begin, end - begin), {.begin = false});
    tokens.insert(tokens.end(), plain.begin(), plain.end());
  };
  std::size_t begin_of_plain = 0;
  std::size_t end_of_template = 0;
  for (std::size_t at = 0; at < text.size();) {
    if (!chat.is_template[at]) {
      ++at;
      continue;
    }
    end_of_template = std::max(end_of_template, at);
    while (end_of_template < text.size() && chat.is_template[end_of_template]) ++end_of_template;
    const TokenId token =
        tokenizer.vocabulary().special(text.substr(at, end_of_template - at), true);
    if (token == kNoToken || tokenizer.vocabulary().token(token).kind != TokenKind::kControl) {
      ++at;
      continue;
    }
    add_plain(begin_of_plain, at);
    if (at != 0 || num_before == 0 || token != tokens.back()) tokens.push_back(token);
    at += tokenizer.vocabulary().token(token).text.size();
    begin_of_plain = at;
  }
  add_plain(begin_of_plain, text.size());
  return tokens;
}

}  // namespace halftone::lm
