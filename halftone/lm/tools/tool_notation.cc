// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/tool_notation.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "halftone/base/error.h"
#include "halftone/lm/tools/tool_probe.h"
#include "halftone/lm/tools/white_space.h"

namespace halftone::lm {
namespace {

using OrderedJson = nlohmann::ordered_json;
using Form = ToolParameters::Form;

constexpr std::size_t kNowhere = std::string_view::npos;

[[noreturn]] void fail_notation() {
  fail(ErrorKind::kUnsupported,
       "tools: the chat template of the model writes calls of functions in a notation other than "
       "a name with arguments in JSON or one by one, which is not followed");
}

/// Where a call is in a text: its name, and its arguments.
struct Call {
  std::size_t name = 0;
  std::size_t begin = 0;  ///< of the arguments
  std::size_t end = 0;
};

/// Finds the call of a function in a text, from some position on.
using FindCall = std::optional<Call> (*)(std::string_view text, std::size_t from,
                                         std::string_view name);

std::optional<Call> find_call_in_json(std::string_view text, std::size_t from,
                                      std::string_view name) {
  Call call{text.find(name, from)};
  if (call.name == kNowhere) return std::nullopt;
  const std::size_t behind = call.name + name.size();
  const std::size_t key = text.find("\"" + std::string(ToolProbe::kKeys[0]) + "\"", behind);
  if (key == kNowhere) return std::nullopt;
  call.begin = text.find_last_not_of(kWhiteSpace, key - 1);
  call.end = text.find('}', key);
  if (call.begin == kNowhere || call.begin < behind || text[call.begin] != '{' ||
      call.end == kNowhere) {
    return std::nullopt;
  }
  ++call.end;
  const auto found = text.substr(call.begin, call.end - call.begin);
  const auto wanted = OrderedJson::parse(ToolProbe::text_arguments());
  if (OrderedJson::parse(found, nullptr, false) != wanted) return std::nullopt;
  return call;
}

/// With the arguments from the first key to the last value.
std::optional<Call> find_call_by_key(std::string_view text, std::size_t from,
                                     std::string_view name) {
  Call call{text.find(name, from)};
  if (call.name == kNowhere) return std::nullopt;
  call.begin = text.find(ToolProbe::kKeys[0], call.name + name.size());
  if (call.begin == kNowhere) return std::nullopt;
  call.end = text.find(ToolProbe::kTexts[1], call.begin);
  if (call.end == kNowhere) return std::nullopt;
  call.end += ToolProbe::kTexts[1].size();
  return call;
}

std::vector<Call> find_calls(std::string_view text, std::size_t num_calls, FindCall find) {
  std::vector<Call> calls;
  for (std::size_t i = 0; i < num_calls; ++i) {
    const auto call = find(text, i == 0 ? 0 : calls.back().end, ToolProbe::kNames[i]);
    if (!call) return {};
    calls.push_back(*call);
  }
  return calls;
}

std::string middle_of(const ToolProbe& probe, std::string_view text, const Call& call,
                      std::string_view name) {
  const std::size_t behind = call.name + name.size();
  return probe.marked(text.substr(behind, call.begin - behind), name);
}

/// What is between calls, with numbers where the template counts them.
void set_between(const ToolProbe& probe, FindCall find, ToolNotation& notation) {
  for (const std::size_t num_calls : {ToolProbe::kMaxCalls, std::size_t{2}}) {
    const auto text = probe.calls(num_calls, ToolProbe::text_arguments());
    if (!text) continue;
    const std::vector<Call> calls = find_calls(*text, num_calls, find);
    if (calls.empty()) continue;
    std::vector<std::string> parts;
    for (std::size_t i = 0; i < num_calls; ++i) {
      const auto middle = ToolProbe::with_numbers(
          notation.middle, middle_of(probe, *text, calls[i], ToolProbe::kNames[i]));
      if (!middle && i == 1) fail_notation();
      if (i == 1) notation.middle = *middle;
      if (i == 0) continue;
      parts.push_back(probe.marked(
          std::string_view(*text).substr(calls[i - 1].end, calls[i].name - calls[i - 1].end),
          ToolProbe::kNames[i]));
    }
    notation.between = ToolProbe::with_numbers(parts.front(), parts.back()).value_or(parts.front());
    return;
  }
}

std::optional<ToolNotation> notation_of(const ToolProbe& probe, FindCall find) {
  const auto one = probe.calls(1, ToolProbe::text_arguments());
  const auto call = one ? find(*one, 0, ToolProbe::kNames[0]) : std::nullopt;
  if (!call) return std::nullopt;
  ToolNotation notation;
  notation.begin = probe.marked(std::string_view(*one).substr(0, call->name), ToolProbe::kNames[0]);
  notation.middle = middle_of(probe, *one, *call, ToolProbe::kNames[0]);
  notation.end = probe.marked(std::string_view(*one).substr(call->end), ToolProbe::kNames[0]);
  notation.id = probe.id();
  set_between(probe, find, notation);
  return notation;
}

/// What is around two equal values in some text.
std::optional<Form> form_around(std::string_view text, std::string_view first,
                                std::string_view second) {
  Form form;
  std::size_t at = text.find(ToolProbe::kNames[0]);
  const auto part = [&](std::string_view up_to) {
    const std::size_t begin = at;
    const std::size_t end = text.find(up_to, begin);
    if (end == kNowhere) return std::optional<std::string>();
    at = end + up_to.size();
    return std::optional<std::string>(text.substr(begin, end - begin));
  };
  const auto middle = part(ToolProbe::kKeys[0]);
  const auto open = part(first);
  const auto next = part(ToolProbe::kKeys[1]);
  const auto other = part(second);
  if (!middle || !open || !next || other != open) return std::nullopt;
  const auto with_key = [](std::string behind, std::string_view key) {
    for (std::size_t i = behind.find(key); i != kNowhere; i = behind.find(key)) {
      behind.replace(i, key.size(), 1, ToolNotation::kKey);
    }
    return behind;
  };
  return Form{*open, with_key(*next, ToolProbe::kKeys[0]),
              with_key(std::string(text.substr(at)), ToolProbe::kKeys[1])};
}

struct ProbeValue {
  JsonType type;
  std::vector<std::string_view> spellings;  ///< of a value; the first one is JSON
};

const std::array<ProbeValue, kNumJsonTypes - 1>& probe_values() {
  static const std::array<ProbeValue, kNumJsonTypes - 1> values = {
      {{JsonType::kNumber, {ToolProbe::kNumber}},
       {JsonType::kBoolean, {"true", "True"}},
       {JsonType::kNull, {"null", "None"}},
       {JsonType::kArray, {"[70007]"}},
       {JsonType::kObject,
        {R"({"probe": 70007})", R"({'probe': 70007})", R"({"probe":70007})", "{probe:70007}"}}}};
  return values;
}

std::optional<Form> form_of(const ToolProbe& probe, const ProbeValue& value) {
  const auto text = probe.calls(1, ToolProbe::arguments(value.spellings.front()));
  if (!text) return std::nullopt;
  for (const std::string_view spelling : value.spellings) {
    if (auto form = form_around(*text, spelling, spelling)) return form;
  }
  return std::nullopt;
}

/// Leaves out an end that all calls of a list share.
void cut_end(std::string& text, const std::string& end) {
  if (!text.ends_with(end)) fail_notation();
  text.resize(text.size() - end.size());
}

/// Moves what is behind each call from "between" and "end" to the calls.
ToolParameters take_parameters(const ToolProbe& probe, ToolNotation& notation) {
  const auto text = probe.calls(1, ToolProbe::text_arguments());
  const auto strings = form_around(*text, ToolProbe::kTexts[0], ToolProbe::kTexts[1]);
  if (!strings) fail_notation();
  ToolParameters parameters;
  parameters.forms.fill(*strings);
  for (const ProbeValue& value : probe_values()) {
    auto form = form_of(probe, value);
    // Templates leave out null, or write it as they do numbers.
    if (!form && value.type == JsonType::kNull) form = parameters.form(JsonType::kNumber);
    if (!form) fail_notation();
    parameters.forms[static_cast<std::size_t>(value.type)] = *form;
  }
  const auto same = std::ranges::mismatch(notation.between, notation.end).in1;
  const auto length = static_cast<std::size_t>(same - notation.between.begin());
  const std::string end = notation.between.empty() ? "" : notation.end.substr(length);
  notation.between.erase(0, length);
  notation.end = end;
  for (Form& form : parameters.forms) cut_end(form.close, end);
  if (const auto none = probe.calls(1, "{}")) {
    parameters.none = none->substr(none->find(ToolProbe::kNames[0]) + ToolProbe::kNames[0].size());
    cut_end(parameters.none, end);
    parameters.none = probe.marked(parameters.none, ToolProbe::kNames[0]);
    if (is_white_space(parameters.none)) parameters.none.clear();
  }
  return parameters;
}

/// Whether what is behind a string tells that it has ended.
bool has_common_end(const Form& form) {
  const auto same = std::ranges::mismatch(form.next, form.close).in1;
  return !is_white_space(std::string(form.next.begin(), same));
}

bool is_plain(const ToolNotation& notation, std::span<const std::string> ends) {
  const bool has_parts = !is_white_space(notation.begin) && !is_white_space(notation.middle) &&
                         (!notation.parameters ||
                          (has_common_end(notation.parameters->form(JsonType::kString)) &&
                           std::ranges::none_of(notation.parameters->forms, [](const Form& form) {
                             return is_white_space(form.open) || is_white_space(form.next) ||
                                    is_white_space(form.close);
                           })));
  return has_parts && std::ranges::none_of(ends, [&](const std::string& end) {
           return !end.empty() && notation.begin.find(end) != kNowhere;
         });
}

/// In OpenAI's harmony the receiver of a message is in front of its channel or behind it, and
/// templates show the one while models write the other.
void add_variants(ToolNotation& notation) {
  if (notation.begin.ends_with(" to=functions.") && notation.middle.starts_with("<|channel|>")) {
    notation.variants.emplace_back("<|channel|>commentary to=functions.",
                                   " <|constrain|>json<|message|>");
  }
}

}  // namespace

std::string ToolParameters::mark() const {
  const std::string& text = form(JsonType::kString).open;
  const std::string& other = form(JsonType::kNumber).open;
  return text != other && text.starts_with(other) ? text.substr(other.size()) : "";
}

ToolNotation tool_notation(const ChatTemplate& chat_template, const ChatMarks& marks,
                           std::span<const std::string> ends, bool as_text) {
  ToolProbe probe(chat_template, marks, ends, as_text);
  if (!probe.reads_tools()) {
    fail(ErrorKind::kUnsupported,
         "tools: the chat template of the model does not take descriptions of functions; use a "
         "model whose template does");
  }
  if (!probe.find_calls()) fail_notation();
  auto notation = notation_of(probe, find_call_in_json);
  if (!notation) {
    notation = notation_of(probe, find_call_by_key);
    if (!notation) fail_notation();
    notation->parameters = take_parameters(probe, *notation);
  }
  if (!is_plain(*notation, ends)) fail_notation();
  add_variants(*notation);
  return *std::move(notation);
}

std::vector<TokenId> tokens_of(const ToolNotation& notation, const Vocabulary& vocabulary) {
  std::vector<std::string> parts{notation.begin, notation.middle};
  const auto add_calls = [&](const std::string& close) {
    parts.push_back(close + notation.between);
    parts.push_back(close + notation.end);
  };
  add_calls("");
  for (const auto& [begin, middle] : notation.variants) {
    parts.insert(parts.end(), {begin, middle});
  }
  if (notation.parameters) {
    add_calls(notation.parameters->none);
    for (const Form& form : notation.parameters->forms) {
      parts.insert(parts.end(), {form.open, form.next});
      add_calls(form.close);
    }
  }
  std::vector<TokenId> tokens;
  for (std::size_t i = 0; i < vocabulary.size(); ++i) {
    const auto& token = vocabulary.token(static_cast<TokenId>(i));
    if (token.kind != TokenKind::kControl || token.text.empty()) continue;
    const bool is_in = std::ranges::any_of(
        parts, [&](const std::string& part) { return part.find(token.text) != kNowhere; });
    if (is_in) tokens.push_back(static_cast<TokenId>(i));
  }
  return tokens;
}

}  // namespace halftone::lm
