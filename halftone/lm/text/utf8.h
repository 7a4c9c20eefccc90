// SPDX-License-Identifier: Apache-2.0
// Characters of texts in UTF-8.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace halftone::lm {

/// Bytes of the first character: a valid sequence of UTF-8 (no surrogates, nothing longer than
/// needed), or 0 if there is none.
std::size_t utf8_length(std::string_view text);
/// Bytes of the longest beginning of the text that more bytes could make one character; 0 if no
/// character begins so. Source: Unicode 15, section 3.9, "maximal subpart".
/// @pre utf8_length(text) == 0
std::size_t utf8_begun_length(std::string_view text);
/// @throws Error kFormat "text: expected UTF-8, found byte 0xff at offset 3"
void check_utf8(std::string_view text);
/// The code point of the first character. @pre utf8_length(text) > 0
char32_t utf8_code_point(std::string_view text);
/// A code point in UTF-8. @pre it is at most 0x10FFFF and no surrogate
std::string to_utf8(char32_t code_point);

/// Calls visit(code point, its bytes) for every character. @pre the text is UTF-8
template <typename Visit>
void for_each_character(std::string_view text, Visit&& visit) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t length = utf8_length(text.substr(at));
    if (length == 0) return;  // of no text that was checked
    const std::string_view bytes = text.substr(at, length);
    visit(utf8_code_point(bytes), bytes);
    at += length;
  }
}

}  // namespace halftone::lm
