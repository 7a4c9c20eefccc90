// SPDX-License-Identifier: Apache-2.0
#include "halftone/base/shell_pattern.h"

#include <fnmatch.h>

#include <charconv>

#include "halftone/base/printable.h"

namespace halftone {
namespace {

constexpr std::string_view kSpecial = "*?[\\";

/// The byte that "xHH" at the start of a text represents; -1 if it is none.
int byte_of(std::string_view text) {
  constexpr std::size_t kLength = 3;
  if (text.size() < kLength || text[0] != 'x') return -1;
  unsigned value = 0;
  const auto [end, error] = std::from_chars(text.data() + 1, text.data() + kLength, value, 16);
  const bool is_byte = error == std::errc() && end == text.data() + kLength && value != 0;
  return is_byte ? static_cast<int>(value) : -1;
}

/// With bytes in place of \xHH.
std::string with_bytes(std::string_view pattern) {
  std::string result;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const bool is_escape = pattern[i] == '\\' && i + 1 < pattern.size();
    const int byte = is_escape ? byte_of(pattern.substr(i + 1)) : -1;
    if (byte >= 0) {
      result += {'\\', static_cast<char>(byte)};
      i += 3;
      continue;
    }
    result += pattern[i];
    if (is_escape) result += pattern[++i];
  }
  return result;
}

}  // namespace

bool matches_pattern(std::string_view pattern, std::string_view name) {
  return ::fnmatch(with_bytes(pattern).c_str(), std::string(name).c_str(), 0) == 0;
}

std::string pattern_of(std::string_view name) {
  std::string pattern;
  for (const char c : name) {
    if (kSpecial.find(c) != std::string_view::npos) pattern += '\\';
    pattern += c;
  }
  return printable(pattern);
}

}  // namespace halftone
