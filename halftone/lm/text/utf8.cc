// SPDX-License-Identifier: Apache-2.0
#include "halftone/lm/text/utf8.h"

#include <algorithm>
#include <cstdint>

#include "halftone/base/error.h"

namespace halftone::lm {
namespace {

/// Of the encoding of a code point.
std::size_t bytes_of(char32_t code_point) {
  if (code_point < 0x80) return 1;
  if (code_point < 0x800) return 2;
  return code_point < 0x10000 ? 3 : 4;
}

/// As the first byte says; 0 if it begins no character.
std::size_t announced_length(unsigned char first) {
  if (first < 0x80) return 1;
  if (first < 0xC0) return 0;
  if (first < 0xE0) return 2;
  if (first < 0xF0) return 3;
  return first < 0xF8 ? 4 : 0;
}

}  // namespace

char32_t utf8_code_point(std::string_view text) {
  const std::size_t length = announced_length(static_cast<unsigned char>(text[0]));
  const unsigned mask = length == 1 ? 0x7F : 0x7FU >> length;
  char32_t result = static_cast<unsigned char>(text[0]) & mask;
  for (std::size_t i = 1; i < length; ++i) {
    result = (result << 6) | (static_cast<unsigned char>(text[i]) & 0x3FU);
  }
  return result;
}

std::size_t utf8_length(std::string_view text) {
  if (text.empty()) return 0;
  const std::size_t length = announced_length(static_cast<unsigned char>(text[0]));
  if (length == 0 || length > text.size()) return 0;
  for (std::size_t i = 1; i < length; ++i) {
    if ((static_cast<unsigned char>(text[i]) & 0xC0) != 0x80) return 0;
  }
  const char32_t code_point = utf8_code_point(text);
  const bool is_surrogate = code_point >= 0xD800 && code_point < 0xE000;
  const bool is_right = code_point <= 0x10FFFF && !is_surrogate && bytes_of(code_point) == length;
  return is_right ? length : 0;
}

std::size_t utf8_begun_length(std::string_view text) {
  if (text.empty()) return 0;
  const std::size_t length = announced_length(static_cast<unsigned char>(text[0]));
  for (std::size_t begun = std::min(length, text.size() + 1); begun-- > 1;) {
    // What follows is from 80 to BF, and any of these will do if one of the ends does.
    for (const char byte : {'\x80', '\xBF'}) {
      std::string whole(text.substr(0, begun));
      whole.resize(length, byte);
      if (utf8_length(whole) == length) return begun;
    }
  }
  return 0;
}

void check_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) {
      constexpr std::string_view kDigits = "0123456789abcdef";
      const auto byte = static_cast<unsigned char>(text[at]);
      fail(ErrorKind::kFormat, std::string("text: expected UTF-8, found byte 0x") +
                                   kDigits[byte / 16] + kDigits[byte % 16] + " at offset " +
                                   std::to_string(at));
    }
    at += length;
  }
}

std::string to_utf8(char32_t code_point) {
  const std::size_t length = bytes_of(code_point);
  if (length == 1) return {static_cast<char>(code_point)};
  std::string text(length, '\0');
  for (std::size_t i = length; i-- > 1; code_point >>= 6) {
    text[i] = static_cast<char>(0x80 | (code_point & 0x3F));
  }
  const unsigned mark = 0xFFU << (8 - length);
  text[0] = static_cast<char>((mark & 0xFF) | static_cast<unsigned>(code_point));
  return text;
}

}  // namespace halftone::lm
