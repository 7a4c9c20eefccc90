// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/chat/jinja/text.h"

#include <utf8proc.h>

#include <algorithm>

#include "halftone/base/error.h"
#include "halftone/lm/text/utf8.h"

namespace halftone::lm::jinja {
namespace {

utf8proc_category_t category(char32_t c) {
  return utf8proc_category(static_cast<utf8proc_int32_t>(plain(c)));
}

char32_t mapped(char32_t c, utf8proc_int32_t (*map)(utf8proc_int32_t)) {
  const auto to = static_cast<char32_t>(map(static_cast<utf8proc_int32_t>(plain(c))));
  return to | (c & kFromMessage);
}

char32_t upper_of(char32_t c) { return mapped(c, utf8proc_toupper); }
char32_t lower_of(char32_t c) { return mapped(c, utf8proc_tolower); }
char32_t title_of(char32_t c) { return mapped(c, utf8proc_totitle); }

bool is_cased(char32_t c) {
  return is_upper(c) || is_lower(c) || category(c) == UTF8PROC_CATEGORY_LT;
}

/// What ends a line for str.splitlines().
bool ends_line(char32_t c) {
  c = plain(c);
  return (c >= 0x0A && c <= 0x0D) || (c >= 0x1C && c <= 0x1E) || c == 0x85 || c == 0x2028 ||
         c == 0x2029;
}

}  // namespace

void check_parts(std::size_t count) {
  if (count > kMaxParts) {
    fail(ErrorKind::kUnsupported, "a text is cut into more than a million parts");
  }
}

int PlainTraits::compare(const char32_t* a, const char32_t* b, std::size_t count) {
  for (std::size_t i = 0; i < count; ++i) {
    if (lt(a[i], b[i])) return -1;
    if (lt(b[i], a[i])) return 1;
  }
  return 0;
}

const char32_t* PlainTraits::find(const char32_t* text, std::size_t count, const char32_t& wanted) {
  const char32_t* found =
      std::find_if(text, text + count, [&](char32_t c) { return eq(c, wanted); });
  return found == text + count ? nullptr : found;
}

Text from_utf8(std::string_view text, bool from_message) {
  Text result;
  result.reserve(text.size());
  const char32_t mark = from_message ? kFromMessage : 0;
  while (!text.empty()) {
    result.push_back(utf8_code_point(text) | mark);
    text.remove_prefix(utf8_length(text));
  }
  return result;
}

std::string to_utf8_text(TextView text) {
  std::string result;
  result.reserve(text.size());
  for (const char32_t c : text) result += to_utf8(plain(c));
  return result;
}

bool is_space(char32_t c) {
  c = plain(c);
  return (c >= 0x09 && c <= 0x0D) || (c >= 0x1C && c <= 0x20) || c == 0x85 || c == 0xA0 ||
         c == 0x1680 || (c >= 0x2000 && c <= 0x200A) || c == 0x2028 || c == 0x2029 || c == 0x202F ||
         c == 0x205F || c == 0x3000;
}

bool is_upper(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LU; }
bool is_lower(char32_t c) { return category(c) == UTF8PROC_CATEGORY_LL; }
bool is_letter(char32_t c) {
  const utf8proc_category_t found = category(c);
  return found >= UTF8PROC_CATEGORY_LU && found <= UTF8PROC_CATEGORY_LO;
}
bool is_decimal(char32_t c) { return category(c) == UTF8PROC_CATEGORY_ND; }

Text upper(TextView text) {
  Text result;
  for (const char32_t c : text) {
    if (plain(c) == 0xDF) {  // the one letter of Latin 1 with two capital letters
      result.append(2, U'S' | (c & kFromMessage));
    } else {
      result.push_back(upper_of(c));
    }
  }
  return result;
}

Text lower(TextView text) {
  Text result(text);
  std::ranges::transform(result, result.begin(), lower_of);
  return result;
}

Text title(TextView text) {
  Text result;
  bool is_in_word = false;
  for (const char32_t c : text) {
    result.push_back(is_in_word ? lower_of(c) : title_of(c));
    is_in_word = is_cased(c);
  }
  return result;
}

Text capitalized(TextView text) {
  Text result = lower(text);
  if (!result.empty()) result.front() = title_of(text.front());
  return result;
}

TextView stripped(TextView text, TextView set, Side side) {
  const auto is_in_set = [&](char32_t c) {
    return set.empty() ? is_space(c) : set.find(c) != TextView::npos;
  };
  while (side != Side::kRight && !text.empty() && is_in_set(text.front())) text.remove_prefix(1);
  while (side != Side::kLeft && !text.empty() && is_in_set(text.back())) text.remove_suffix(1);
  return text;
}

namespace {

std::vector<Text> split_at_space(TextView text, std::ptrdiff_t most, bool from_right) {
  const Side side = from_right ? Side::kRight : Side::kLeft;
  std::vector<Text> parts;
  text = stripped(text, {}, side);
  while (!text.empty()) {
    check_parts(parts.size());
    if (static_cast<std::ptrdiff_t>(parts.size()) == most) {
      parts.emplace_back(text);
      break;
    }
    std::size_t length = 0;
    const auto at = [&](std::size_t i) { return from_right ? text[text.size() - 1 - i] : text[i]; };
    while (length < text.size() && !is_space(at(length))) ++length;
    parts.emplace_back(from_right ? text.substr(text.size() - length) : text.substr(0, length));
    text = from_right ? text.substr(0, text.size() - length) : text.substr(length);
    text = stripped(text, {}, side);
  }
  return parts;
}

std::vector<Text> split_at(TextView text, TextView separator, std::ptrdiff_t most,
                           bool from_right) {
  std::vector<Text> parts;
  while (most < 0 || static_cast<std::ptrdiff_t>(parts.size()) < most) {
    const std::size_t at = from_right ? text.rfind(separator) : text.find(separator);
    if (at == TextView::npos) break;
    check_parts(parts.size());
    const TextView behind = text.substr(at + separator.size());
    parts.emplace_back(from_right ? behind : text.substr(0, at));
    text = from_right ? text.substr(0, at) : behind;
  }
  parts.emplace_back(text);
  return parts;
}

}  // namespace

std::vector<Text> split(TextView text, TextView separator, std::ptrdiff_t most, bool from_right) {
  std::vector<Text> parts = separator.empty() ? split_at_space(text, most, from_right)
                                              : split_at(text, separator, most, from_right);
  if (from_right) std::ranges::reverse(parts);
  return parts;
}

std::vector<Text> split_lines(TextView text, bool keeps_ends) {
  std::vector<Text> lines;
  while (!text.empty()) {
    check_parts(lines.size());
    const auto found = std::ranges::find_if(text, ends_line);
    const auto length = static_cast<std::size_t>(found - text.begin());
    std::size_t end = std::min(length + 1, text.size());
    if (end < text.size() && plain(text[length]) == '\r' && plain(text[end]) == '\n') ++end;
    lines.emplace_back(text.substr(0, keeps_ends ? end : length));
    text.remove_prefix(end);
  }
  return lines;
}

Text replaced(TextView text, TextView old, TextView with, std::ptrdiff_t count,
              std::size_t max_size) {
  Text result;
  for (std::ptrdiff_t done = 0; count < 0 || done < count; ++done) {
    // An empty text is found in front of each character and behind the last one.
    const std::size_t skipped = old.empty() && done > 0 ? 1 : 0;
    const std::size_t found = skipped > text.size() ? TextView::npos : text.find(old, skipped);
    if (found == TextView::npos) break;
    result += text.substr(0, found);
    result += with;
    if (result.size() > max_size) fail(ErrorKind::kUnsupported, "texts become too large");
    text.remove_prefix(found + old.size());
  }
  result += text;
  return result;
}

}  // namespace halftone::lm::jinja
