// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/tool_probe.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "halftone/base/error.h"
#include "halftone/lm/tools/tool_notation.h"
#include "halftone/lm/tools/white_space.h"

namespace halftone::lm {
namespace {

using OrderedJson = nlohmann::ordered_json;

// Mistral's templates take ids of nine letters and digits only.
constexpr std::array<std::string_view, ToolProbe::kMaxCalls> kIds = {"probeId01", "probeId02",
                                                                     "probeId03"};
/// In front of the name in ids that have it, as Kimi K2 makes them.
constexpr std::string_view kFunctions = "functions.";

std::string named_id(std::string_view name, std::string_view number) {
  return std::string(kFunctions) + std::string(name) + ":" + std::string(number);
}

OrderedJson probe_tools() {
  OrderedJson properties;
  for (const std::string_view key : ToolProbe::kKeys) {
    properties[std::string(key)] = {{"type", "string"}, {"description", "A text."}};
  }
  const OrderedJson parameters = {
      {"type", "object"}, {"properties", properties}, {"required", {ToolProbe::kKeys[0]}}};
  OrderedJson tools = OrderedJson::array();
  for (const std::string_view name : ToolProbe::kNames) {
    tools.push_back(
        {{"type", "function"},
         {"function", {{"name", name}, {"description", "Probes."}, {"parameters", parameters}}}});
  }
  return tools;
}

OrderedJson question() { return {{"role", "user"}, {"content", "Question?"}}; }

ChatRequest request_with(const OrderedJson& answer) {
  const OrderedJson messages = {question(), answer};
  return {.messages = messages.dump(), .tools = probe_tools().dump(), .adds_answer = false};
}

ChatRequest plain_request() {
  return request_with({{"role", "assistant"}, {"content", "Answer."}});
}

void replace_all(std::string& text, std::string_view what, char sign) {
  for (std::size_t at = text.find(what); at != std::string_view::npos; at = text.find(what, at)) {
    text.replace(at, what.size(), 1, sign);
  }
}

bool is_probe_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t common_length(std::string_view a, std::string_view b) {
  return static_cast<std::size_t>(std::ranges::mismatch(a, b).in1 - a.begin());
}

}  // namespace

ToolProbe::ToolProbe(const ChatTemplate& chat_template, const ChatMarks& marks,
                     std::span<const std::string> ends, bool as_text)
    : template_(chat_template), marks_(marks), ends_(ends), as_text_(as_text) {}

std::optional<std::string> ToolProbe::text(ChatRequest request) const {
  request.tools_as_text = as_text_;
  try {
    return template_.render(request, marks_).text;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kMemory) throw;
    return std::nullopt;
  }
}

bool ToolProbe::reads_tools() const {
  ChatRequest request = plain_request();
  const auto with = text(request);
  request.tools.clear();
  return with && with != text(request);
}

std::optional<std::string> ToolProbe::answer(std::size_t num_calls,
                                             const std::string& arguments) const {
  OrderedJson calls = OrderedJson::array();
  for (std::size_t i = 0; i < num_calls; ++i) {
    const std::string id =
        has_named_ids_ ? named_id(kNames[i], std::to_string(i)) : std::string(kIds[i]);
    const OrderedJson function = {{"name", kNames[i]},
                                  {"arguments", OrderedJson::parse(arguments)}};
    calls.push_back({{"id", id}, {"type", "function"}, {"function", function}});
  }
  return text(request_with({{"role", "assistant"}, {"content", ""}, {"tool_calls", calls}}));
}

bool ToolProbe::find_calls() {
  const auto plain = text(plain_request());
  if (!plain) return false;
  plain_ = *plain;
  for (const bool has_named_ids : {false, true}) {
    has_named_ids_ = has_named_ids;
    const auto one = answer(1, text_arguments());
    if (!one) continue;
    begin_ = common_length(plain_, *one);
    if (one->find(kNames[0], begin_) == std::string_view::npos) continue;
    // What an answer and a call have in common behind the prompt may be part of the call.
    const bool has_begin =
        one->find_first_not_of(kWhiteSpace, begin_) != one->find(kNames[0], begin_);
    ChatRequest request = plain_request();
    request.messages = OrderedJson::array({question()}).dump();
    request.adds_answer = true;
    const auto prompt = text(request);
    if (!has_begin && prompt && one->starts_with(*prompt)) {
      begin_ = std::min(begin_, prompt->size());
    }
    return true;
  }
  return false;
}

/// The length of what is behind a call, before an answer ends.
std::size_t ToolProbe::length_of_end(std::string_view rest) const {
  std::size_t length = rest.size();
  while (length > 0 && plain_.size() > rest.size() - length &&
         rest[length - 1] == plain_[plain_.size() - 1 - (rest.size() - length)]) {
    --length;
  }
  for (const std::string& end : ends_) {
    if (!end.empty()) length = std::min(length, rest.find(end));
  }
  return length;
}

std::optional<std::string> ToolProbe::calls(std::size_t num_calls,
                                            const std::string& arguments) const {
  const auto found = answer(num_calls, arguments);
  if (!found || found->size() < begin_) return std::nullopt;
  std::size_t behind = begin_;
  for (std::size_t i = 0; i < num_calls; ++i) {
    const std::size_t name = found->find(kNames[i], behind);
    if (name == std::string_view::npos) return std::nullopt;
    behind = name + kNames[i].size();
  }
  const std::string_view rest = std::string_view(*found).substr(behind);
  return found->substr(begin_, behind - begin_ + length_of_end(rest));
}

std::string ToolProbe::marked(std::string_view part, std::string_view name) const {
  std::string text(part);
  if (!has_named_ids_) {
    for (const std::string_view id : kIds) replace_all(text, id, ToolNotation::kId);
  }
  replace_all(text, name, ToolNotation::kName);
  return text;
}

std::optional<std::string> ToolProbe::with_numbers(std::string_view first,
                                                   std::string_view second) {
  std::string text;
  std::size_t i = 0;
  std::size_t k = 0;
  while (i < first.size() && k < second.size()) {
    if (!is_probe_digit(first[i]) || !is_probe_digit(second[k])) {
      if (first[i] != second[k]) return std::nullopt;
      text += first[i];
      ++i, ++k;
      continue;
    }
    const auto run = [](std::string_view part, std::size_t& at) {
      const std::size_t begin = at;
      while (at < part.size() && is_probe_digit(part[at])) ++at;
      return part.substr(begin, at - begin);
    };
    const std::string_view one = run(first, i);
    const std::string_view other = run(second, k);
    text += one == other ? std::string(one) : std::string(1, ToolNotation::kNumber);
  }
  if (i != first.size() || k != second.size()) return std::nullopt;
  return text;
}

std::string ToolProbe::id() const {
  if (!has_named_ids_) return "";
  return named_id(std::string(1, ToolNotation::kName), std::string(1, ToolNotation::kNumber));
}

std::string ToolProbe::arguments(std::string_view value) {
  OrderedJson object;
  for (const std::string_view key : kKeys) object[std::string(key)] = OrderedJson::parse(value);
  return object.dump();
}

std::string ToolProbe::text_arguments() {
  OrderedJson object;
  for (std::size_t i = 0; i < kKeys.size(); ++i) object[std::string(kKeys[i])] = kTexts[i];
  return object.dump();
}

}  // namespace halftone::lm
