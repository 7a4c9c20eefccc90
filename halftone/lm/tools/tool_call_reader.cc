// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/tool_call_reader.h"

#include <algorithm>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/base/json/json_text.h"

namespace halftone::lm {
namespace {

constexpr std::string_view kBlanks = " \t\r\n";

bool is_blank(char c) { return kBlanks.find(c) != std::string_view::npos; }

bool is_of_id(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-';
}

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

}  // namespace

ToolCallReader::ToolCallReader(ToolNotation notation, std::vector<std::string> names,
                               bool is_in_call)
    : notation_(std::move(notation)),
      names_(std::move(names)),
      state_(is_in_call ? State::kName : State::kContent) {}

ToolCallReader::Match ToolCallReader::match(std::size_t at, std::string_view part) const {
  for (const char wanted : part) {
    if (is_blank(wanted)) continue;
    while (at < text_.size() && is_blank(text_[at])) ++at;
    const std::size_t begin = at;
    if (wanted == ToolNotation::kId) {
      while (at < text_.size() && is_of_id(text_[at])) ++at;
      if (at == begin && at < text_.size()) return {};
    } else if (at < text_.size() && text_[at++] != wanted) {
      return {};
    }
    if (begin == text_.size()) return {Fit::kBegun, begin};
  }
  return {Fit::kYes, at};
}

ToolCallReader::Match ToolCallReader::match_object(std::size_t at) const {
  at = text_.find_first_not_of(kBlanks, at);
  if (at == std::string::npos) return {Fit::kBegun, text_.size()};
  if (text_[at] != '{') return {};
  const std::size_t length = length_of_object(std::string_view(text_).substr(at));
  if (length == std::string_view::npos) return {Fit::kBegun, text_.size()};
  return {is_json(std::string_view(text_).substr(at, length)) ? Fit::kYes : Fit::kNo, at + length};
}

ToolCallReader::Match ToolCallReader::match_call(std::size_t at, ToolCall& call) const {
  Match best;
  for (const std::string& name : names_) {
    const std::string_view rest = std::string_view(text_).substr(at);
    Match found;
    if (rest.size() < name.size()) {
      if (std::string_view(name).starts_with(rest)) found.fit = Fit::kBegun;
    } else if (rest.starts_with(name)) {
      found = match(at + name.size(), notation_.middle);
      const std::size_t begin = text_.find_first_not_of(kBlanks, found.end);
      if (found.fit == Fit::kYes) found = match_object(found.end);
      if (found.fit == Fit::kYes) call = {name, text_.substr(begin, found.end - begin)};
    }
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
    if (is_blank(text_[at])) continue;
    ToolCall call;
    Match behind = match(at, notation_.begin);
    if (behind.fit == Fit::kYes) behind = match_call(behind.end, call);
    if (behind.fit == Fit::kNo || (behind.fit == Fit::kBegun && is_last)) continue;
    // White space in front of a call is none of the content.
    const std::size_t end = text_.find_last_not_of(kBlanks, at == 0 ? 0 : at - 1);
    const std::size_t length = at == 0 || end == std::string::npos ? 0 : end + 1;
    const std::size_t kept = behind.fit == Fit::kYes ? at : length;
    found.content += text_.substr(0, length);
    text_.erase(0, kept);
    if (behind.fit == Fit::kBegun) return false;
    behind.end -= kept;
    take_call(behind, std::move(call), found);
    return true;
  }
  const std::size_t end = text_.find_last_not_of(kBlanks);
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
  if (next.fit == Fit::kYes) next = match_call(next.end, call);
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
