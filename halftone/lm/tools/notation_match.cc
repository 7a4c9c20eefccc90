// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/tools/notation_match.h"

#include "halftone/lm/tools/white_space.h"

namespace halftone::lm {
namespace {

bool is_of_number(char c) { return c >= '0' && c <= '9'; }

bool is_of_id(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_of_number(c) || c == '_' ||
         c == '-';
}

/// One character of a part at a position that is none of white space, or not in the text yet.
Match match_sign(std::string_view text, std::size_t at, char wanted, CallMarks& marks) {
  const std::size_t begin = at;
  if (wanted == ToolNotation::kId || wanted == ToolNotation::kNumber) {
    const auto is_good = wanted == ToolNotation::kId ? is_of_id : is_of_number;
    while (at < text.size() && is_good(text[at])) ++at;
    if (wanted == ToolNotation::kNumber) marks.number = text.substr(begin, at - begin);
    return {at > begin ? Fit::kYes : Fit::kNo, at};
  }
  std::string_view texts(&wanted, 1);
  if (wanted == ToolNotation::kName) texts = marks.name;
  if (wanted == ToolNotation::kKey) texts = marks.key;
  const std::string_view found = text.substr(at, texts.size());
  if (found == texts) return {Fit::kYes, at + texts.size()};
  return {texts.starts_with(found) ? Fit::kBegun : Fit::kNo, at};
}

}  // namespace

Match match_part(std::string_view text, std::size_t at, std::string_view part, CallMarks& marks) {
  for (const char wanted : part) {
    if (is_white_space(wanted)) continue;
    while (at < text.size() && is_white_space(text[at])) ++at;
    if (at == text.size()) return {Fit::kBegun, at};
    const Match sign = match_sign(text, at, wanted, marks);
    if (sign.fit != Fit::kYes) return sign;
    at = sign.end;
  }
  return {Fit::kYes, at};
}

}  // namespace halftone::lm
