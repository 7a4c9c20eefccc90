// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/tool_call_reader.h"

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/json/json_text.h"
#include "halftone/lm/tools/white_space.h"

namespace halftone::lm {
namespace {

/// The length of an object in JSON; npos if it has no end yet.
std::size_t length_of_object(std::string_view text) {
  std::size_t depth = 0;
  bool is_string = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (is_string) {
      if (c == '\\') ++i;
      if (c == '"') is_string = false;
    } else if (c == '"') {
      is_string = true;
    } else if (c == '{' || c == '[') {
      ++depth;
    } else if ((c == '}' || c == ']') && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

bool is_json(std::string_view text) {
  try {
    check_json(text);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// An id that the name and the number of a call make.
std::string id_of(std::string_view notation, const CallMarks& marks) {
  std::string id;
  for (const char c : notation) {
    if (c == ToolNotation::kName) {
      id += marks.name;
    } else if (c == ToolNotation::kNumber) {
      id += marks.number;
    } else {
      id += c;
    }
  }
  return id;
}

}  // namespace

ToolCallReader::ToolCallReader(ToolNotation notation, const std::vector<ToolFunction>& functions,
                               bool is_in_call)
    : notation_(std::move(notation)), state_(is_in_call ? State::kName : State::kContent) {
  for (const ToolFunction& each : functions) {
    functions_.push_back({each.name, notation_.parameters ? parameter_types(each)
                                                          : std::map<std::string, JsonTypes>{}});
  }
}

Match ToolCallReader::match(std::size_t at, std::string_view part) const {
  CallMarks marks;
  return match_part(text_, at, part, marks);
}

Match ToolCallReader::match_object(std::size_t at) const {
  at = text_.find_first_not_of(kWhiteSpace, at);
  if (at == std::string::npos) return {Fit::kBegun, text_.size()};
  if (text_[at] != '{') return {};
  const std::size_t length = length_of_object(std::string_view(text_).substr(at));
  if (length == std::string_view::npos) return {Fit::kBegun, text_.size()};
  return {is_json(std::string_view(text_).substr(at, length)) ? Fit::kYes : Fit::kNo, at + length};
}

Match ToolCallReader::match_arguments(std::size_t at, const std::string& middle,
                                      const Function& function, ToolCall& call) const {
  CallMarks marks{function.name};
  std::string arguments;
  Match found;
  if (notation_.parameters) {
    ParameterReader reader(*notation_.parameters, function.types, marks);
    found = reader.read(text_, at, middle, arguments);
  } else {
    found = match_part(text_, at, middle, marks);
    const std::size_t begin = text_.find_first_not_of(kWhiteSpace, found.end);
    if (found.fit == Fit::kYes) found = match_object(found.end);
    if (found.fit == Fit::kYes) arguments = text_.substr(begin, found.end - begin);
  }
  if (found.fit == Fit::kYes) {
    call = {function.name, std::move(arguments), id_of(notation_.id, marks)};
  }
  return found;
}

Match ToolCallReader::match_call(std::size_t at, const std::string& middle, ToolCall& call) const {
  at = std::min(text_.find_first_not_of(kWhiteSpace, at), text_.size());
  const std::string_view rest = std::string_view(text_).substr(at);
  Match best;
  for (const Function& function : functions_) {
    Match found;
    if (rest.size() < function.name.size()) {
      if (std::string_view(function.name).starts_with(rest)) found.fit = Fit::kBegun;
    } else if (rest.starts_with(function.name)) {
      found = match_arguments(at + function.name.size(), middle, function, call);
    }
    if (found.fit > best.fit) best = found;
  }
  return best;
}

Match ToolCallReader::match_begin(std::size_t at, ToolCall& call) const {
  const auto match_pair = [&](const std::string& begin, const std::string& middle) {
    const Match found = match(at, begin);
    return found.fit == Fit::kYes ? match_call(found.end, middle, call) : found;
  };
  Match best = match_pair(notation_.begin, notation_.middle);
  for (const auto& [begin, middle] : notation_.variants) {
    const Match found = match_pair(begin, middle);
    if (found.fit > best.fit) best = found;
  }
  return best;
}

void ToolCallReader::take_call(const Match& behind, ToolCall call, ToolText& found) {
  text_.erase(0, behind.end);
  found.calls.push_back(std::move(call));
  state_ = State::kBehind;
}

bool ToolCallReader::take_content(bool is_last, ToolText& found) {
  for (std::size_t at = 0; at < text_.size(); ++at) {
    if (is_white_space(text_[at])) continue;
    ToolCall call;
    Match behind = match_begin(at, call);
    if (behind.fit == Fit::kNo || (behind.fit == Fit::kBegun && is_last)) continue;
    // White space in front of a call is none of the content.
    const std::size_t end = text_.find_last_not_of(kWhiteSpace, at == 0 ? 0 : at - 1);
    const std::size_t length = at == 0 || end == std::string::npos ? 0 : end + 1;
    const std::size_t kept = behind.fit == Fit::kYes ? at : length;
    found.content += text_.substr(0, length);
    text_.erase(0, kept);
    if (behind.fit == Fit::kBegun) return false;
    behind.end -= kept;
    take_call(behind, std::move(call), found);
    return true;
  }
  const std::size_t end = text_.find_last_not_of(kWhiteSpace);
  const std::size_t length = is_last ? text_.size() : end == std::string::npos ? 0 : end + 1;
  found.content += text_.substr(0, length);
  text_.erase(0, length);
  return false;
}

/// Behind a call, or in front of the first name.
bool ToolCallReader::take_next(bool is_last, ToolText& found) {
  Match next{Fit::kYes, 0};
  if (state_ == State::kBehind) {
    next = notation_.between.empty() ? Match{} : match(0, notation_.between);
  }
  ToolCall call;
  if (next.fit == Fit::kYes) next = match_call(next.end, notation_.middle, call);
  if (next.fit == Fit::kYes) {
    take_call(next, std::move(call), found);
    return true;
  }
  if (next.fit == Fit::kBegun && !is_last) return false;
  const bool is_behind = std::exchange(state_, State::kContent) == State::kBehind;
  if (!is_behind) return true;
  const Match end = match(0, notation_.end);
  if (end.fit == Fit::kBegun && !is_last) state_ = State::kBehind;
  if (end.fit != Fit::kNo && state_ == State::kContent) text_.erase(0, end.end);
  return state_ == State::kContent;
}

void ToolCallReader::read(bool is_last, ToolText& found) {
  bool goes_on = true;
  while (goes_on && !text_.empty()) {
    goes_on = state_ == State::kContent ? take_content(is_last, found) : take_next(is_last, found);
  }
}

ToolText ToolCallReader::push(std::string_view text) {
  ToolText found;
  text_ += text;
  read(false, found);
  return found;
}

ToolText ToolCallReader::finish() {
  ToolText found;
  read(true, found);
  return found;
}

}  // namespace halftone::lm
