// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/tool_notation.h"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <optional>

#include "halftone/base/error.h"

namespace halftone::lm {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::size_t kNowhere = std::string::npos;
constexpr std::string_view kSpace = " \t\r\n";
constexpr std::string_view kKey = "probe_key";
// Mistral's templates take ids of nine letters and digits only.
constexpr std::array<std::string_view, 2> kIds = {"probeId01", "probeId02"};
constexpr std::array<std::string_view, 2> kNames = {"probe_first", "probe_second"};

OrderedJson probe_tools() {
  OrderedJson tools = OrderedJson::array();
  for (const std::string_view name : kNames) {
    const OrderedJson properties = {{kKey, {{"type", "string"}, {"description", "A text."}}}};
    const OrderedJson parameters = {
        {"type", "object"}, {"properties", properties}, {"required", {kKey}}};
    tools.push_back(
        {{"type", "function"},
         {"function", {{"name", name}, {"description", "Probes."}, {"parameters", parameters}}}});
  }
  return tools;
}

/// A conversation that ends with some calls; without any, with an answer.
ChatRequest probe(std::size_t num_calls) {
  OrderedJson calls = OrderedJson::array();
  for (std::size_t i = 0; i < num_calls; ++i) {
    const OrderedJson function = {{"name", kNames[i]}, {"arguments", {{kKey, "probe value"}}}};
    calls.push_back({{"id", kIds[i]}, {"type", "function"}, {"function", function}});
  }
  OrderedJson answer = {{"role", "assistant"}, {"content", num_calls == 0 ? "Answer." : ""}};
  if (num_calls != 0) answer["tool_calls"] = calls;
  const OrderedJson messages = {{{"role", "user"}, {"content", "Question?"}}, answer};
  return {.messages = messages.dump(), .tools = probe_tools().dump(), .adds_answer = false};
}

/// The text of a conversation; nullopt if the template refuses it.
std::optional<std::string> text_of(const ChatTemplate& chat_template, const ChatRequest& request,
                                   const ChatMarks& marks) {
  try {
    return chat_template.render(request, marks).text;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kMemory) throw;
    return std::nullopt;
  }
}

bool reads_tools(const ChatTemplate& chat_template, const ChatMarks& marks) {
  ChatRequest request = probe(0);
  const auto with = text_of(chat_template, request, marks);
  request.tools.clear();
  return with && with != text_of(chat_template, request, marks);
}

/// Where a call is in a text: its name, and its arguments from their "{" to behind their "}".
struct Call {
  std::size_t name = 0;
  std::size_t arguments = 0;
  std::size_t end = 0;
};

std::optional<Call> find_call(std::string_view text, std::string_view name) {
  Call call{text.rfind(name)};
  if (call.name == kNowhere) return std::nullopt;
  const std::size_t behind = call.name + name.size();
  const std::size_t key = text.find("\"" + std::string(kKey) + "\"", behind);
  if (key == kNowhere) return std::nullopt;
  call.arguments = text.find_last_not_of(kSpace, key - 1);
  call.end = text.find('}', key);
  if (call.arguments == kNowhere || call.arguments < behind || text[call.arguments] != '{' ||
      call.end == kNowhere) {
    return std::nullopt;
  }
  ++call.end;
  const OrderedJson wanted = {{kKey, "probe value"}};
  const auto found = text.substr(call.arguments, call.end - call.arguments);
  if (OrderedJson::parse(found, nullptr, false) != wanted) return std::nullopt;
  return call;
}

/// The text with marks in place of ids.
std::string without_ids(std::string_view part) {
  std::string text(part);
  for (const std::string_view id : kIds) {
    for (std::size_t at = text.find(id); at != kNowhere; at = text.find(id)) {
      text.replace(at, id.size(), 1, ToolNotation::kId);
    }
  }
  return text;
}

/// The length of what is behind a call, before an answer ends.
std::size_t length_of_end(std::string_view rest, std::string_view answer,
                          std::span<const std::string> ends) {
  std::size_t length = rest.size();
  while (length > 0 && answer.size() > rest.size() - length &&
         rest[length - 1] == answer[answer.size() - 1 - (rest.size() - length)]) {
    --length;
  }
  for (const std::string& end : ends) {
    if (!end.empty()) length = std::min(length, rest.find(end));
  }
  return length;
}

[[noreturn]] void fail_notation() {
  fail(ErrorKind::kUnsupported,
       "tools: the chat template of the model writes calls of functions in a notation other than "
       "name and arguments in JSON, which is not followed");
}

}  // namespace

ToolNotation tool_notation(const ChatTemplate& chat_template, const ChatMarks& marks,
                           std::span<const std::string> ends) {
  if (!reads_tools(chat_template, marks)) {
    fail(ErrorKind::kUnsupported,
         "tools: the chat template of the model does not take descriptions of functions; use a "
         "model whose template does");
  }
  const auto answer = text_of(chat_template, probe(0), marks);
  const auto one = text_of(chat_template, probe(1), marks);
  const auto call = one ? find_call(*one, kNames[0]) : std::nullopt;
  if (!call) fail_notation();
  const auto same =
      static_cast<std::size_t>(std::ranges::mismatch(*answer, *one).in2 - one->begin());
  if (same >= call->name) fail_notation();
  const std::string rest = one->substr(call->end);
  ToolNotation notation;
  const auto set_middle = [&](const std::string& text, const Call& at, std::string_view name) {
    const std::size_t behind = at.name + name.size();
    return without_ids(std::string_view(text).substr(behind, at.arguments - behind));
  };
  notation.begin = without_ids(std::string_view(*one).substr(same, call->name - same));
  notation.middle = set_middle(*one, *call, kNames[0]);
  notation.end = without_ids(rest.substr(0, length_of_end(rest, *answer, ends)));
  const bool is_plain = notation.begin.find_first_not_of(kSpace) != kNowhere &&
                        notation.middle.find_first_not_of(kSpace) != kNowhere &&
                        std::ranges::none_of(ends, [&](const std::string& end) {
                          return !end.empty() && notation.begin.find(end) != kNowhere;
                        });
  if (!is_plain) fail_notation();
  const auto two = text_of(chat_template, probe(2), marks);
  const auto first = two ? find_call(*two, kNames[0]) : std::nullopt;
  const auto second = two ? find_call(*two, kNames[1]) : std::nullopt;
  if (!first || !second || second->name < first->end) return notation;
  if (set_middle(*two, *second, kNames[1]) != notation.middle) fail_notation();
  notation.between =
      without_ids(std::string_view(*two).substr(first->end, second->name - first->end));
  return notation;
}

std::vector<TokenId> tokens_of(const ToolNotation& notation, const Vocabulary& vocabulary) {
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    const auto& token = vocabulary.token(static_cast<TokenId>(i));
    if (token.kind != TokenKind::kControl || token.text.empty()) continue;
    const bool is_in = std::ranges::any_of(
        std::array{&notation.begin, &notation.middle, &notation.between, &notation.end},
        [&](const std::string* part) { return part->find(token.text) != kNowhere; });
    if (is_in) tokens.push_back(static_cast<TokenId>(i));
  }
  return tokens;
}

}  // namespace halftone::lm
