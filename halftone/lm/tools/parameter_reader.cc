// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/parameter_reader.h"

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/lm/tools/white_space.h"

namespace halftone::lm {
namespace {

using Form = ToolParameters::Form;

/// In front of and behind a text with signs of XML, as MiniCPM5 has it.
constexpr std::string_view kCharactersBegin = "<![CDATA[";
constexpr std::string_view kCharactersEnd = "]]>";

bool is_of_key(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || c == '.' || c == '$' || static_cast<unsigned char>(c) >= 0x80;
}

std::string json_string(std::string_view text) {
  return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

/// The white space at the end of a part, or at its beginning.
std::string_view trailing_space(std::string_view part) {
  std::size_t begin = part.size();
  while (begin > 0 && is_white_space(part[begin - 1])) --begin;
  return part.substr(begin);
}
std::string_view leading_space(std::string_view part) {
  std::size_t end = 0;
  while (end < part.size() && is_white_space(part[end])) ++end;
  return part.substr(0, end);
}

}  // namespace

std::map<std::string, JsonTypes> parameter_types(const ToolFunction& function) {
  std::map<std::string, JsonTypes> types;
  try {
    for (const FunctionParameter& parameter : parameters_of(function)) {
      for (const TypedSchema& each : parameter.alternatives) {
        types[parameter.name].set(static_cast<std::size_t>(each.type));
      }
    }
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::kMemory) throw;
    types.clear();  // any value may be of any type
  }
  return types;
}

std::string ParameterReader::json_of_text(std::string_view text) const {
  if (text.starts_with(kCharactersBegin) && text.ends_with(kCharactersEnd)) {
    text.remove_prefix(kCharactersBegin.size());
    text.remove_suffix(std::min(text.size(), kCharactersEnd.size()));
    return json_string(text);
  }
  const Form& strings = parameters_.form(JsonType::kString);
  const auto known = types_.find(marks_.key);
  const Literal literal = read_literal(text, 0, mark_);
  const bool is_whole = literal.fit == Fit::kYes && is_white_space(text.substr(literal.end));
  if (!is_whole) return json_string(text);
  const auto type = static_cast<std::size_t>(type_of_json(literal.json));
  const bool is_other = type_of_json(literal.json) != JsonType::kString &&
                        parameters_.forms[type] == strings &&
                        (known == types_.end() || known->second.test(type));
  return is_other ? literal.json : json_string(text);
}

ParameterReader::Value ParameterReader::read_end(std::string_view text, std::size_t at,
                                                 const Form& form) {
  Match next = match_part(text, at, form.next, marks_);
  if (next.fit == Fit::kYes) {
    const std::size_t key = text.find_first_not_of(kWhiteSpace, next.end);
    if (key == std::string_view::npos) next.fit = Fit::kBegun;
    if (key != std::string_view::npos && !is_of_key(text[key])) next.fit = Fit::kNo;
  }
  const Match close = match_part(text, at, form.close, marks_);
  const bool is_last = close.fit > next.fit ||
                       (close.fit == Fit::kYes && next.fit == Fit::kYes && close.end > next.end);
  return {is_last ? close : next, "", is_last};
}

ParameterReader::Value ParameterReader::read_literal_value(std::string_view text, std::size_t at,
                                                           const Form& form) {
  const Match open = match_part(text, at, form.open, marks_);
  if (open.fit != Fit::kYes) return {open, ""};
  Literal literal = read_literal(text, open.end, mark_);
  if (literal.fit != Fit::kYes) return {{literal.fit, literal.end}, ""};
  Value value = read_end(text, literal.end, form);
  value.json = std::move(literal.json);
  return value;
}

/// The text up to the first end that fits.
ParameterReader::Value ParameterReader::read_text_value(std::string_view text, std::size_t at) {
  const Form& form = parameters_.form(JsonType::kString);
  const Match open = match_part(text, at, form.open, marks_);
  if (open.fit != Fit::kYes) return {open, ""};
  std::size_t begin = open.end;
  const std::string_view space = trailing_space(form.open);
  if (text.substr(begin).starts_with(space)) begin += space.size();
  for (std::size_t end = begin; end < text.size(); ++end) {
    if (is_white_space(text[end])) continue;
    Value value = read_end(text, end, form);
    if (value.match.fit == Fit::kNo) continue;
    std::string_view raw = text.substr(begin, end - begin);
    const std::string_view front = leading_space(value.is_last ? form.close : form.next);
    if (raw.ends_with(front)) raw.remove_suffix(front.size());
    if (value.match.fit == Fit::kYes) value.json = json_of_text(raw);
    return value;
  }
  return {{Fit::kBegun, text.size()}, ""};
}

ParameterReader::Value ParameterReader::read_value(std::string_view text, std::size_t at) {
  const Form& strings = parameters_.form(JsonType::kString);
  std::vector<Form> tried;
  Value best;
  for (const Form& form : parameters_.forms) {
    if (form == strings || std::ranges::find(tried, form) != tried.end()) continue;
    tried.push_back(form);
    Value value = read_literal_value(text, at, form);
    if (value.match.fit > best.match.fit) best = std::move(value);
  }
  if (best.match.fit == Fit::kYes) return best;
  Value value = read_text_value(text, at);
  return value.match.fit >= best.match.fit ? value : best;
}

Match ParameterReader::read(std::string_view text, std::size_t at, std::string_view middle,
                            std::string& arguments) {
  Match found = parameters_.none.empty() ? Match{} : match_part(text, at, parameters_.none, marks_);
  arguments = "{}";
  if (found.fit == Fit::kYes) return found;
  const Match front = match_part(text, at, middle, marks_);
  if (front.fit != Fit::kYes) return front.fit > found.fit ? front : found;
  std::vector<std::pair<std::string, std::string>> members;
  Value value{front, ""};
  while (!value.is_last) {
    at = value.match.end;
    while (at < text.size() && is_white_space(text[at])) ++at;
    const std::size_t begin = at;
    while (at < text.size() && is_of_key(text[at])) ++at;
    if (at == text.size()) return {Fit::kBegun, at};
    if (at == begin) return {};
    marks_.key = text.substr(begin, at - begin);
    value = read_value(text, at);
    if (value.match.fit != Fit::kYes) return value.match;
    std::erase_if(members, [&](const auto& member) { return member.first == marks_.key; });
    members.emplace_back(marks_.key, value.json);
  }
  arguments = "{";
  for (const auto& [key, json] : members) {
    arguments += (arguments.size() > 1 ? ", " : "") + json_string(key) + ": " + json;
  }
  arguments += "}";
  return value.match;
}

}  // namespace halftone::lm
