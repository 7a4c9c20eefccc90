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
/// The text in Unicode's normal form C, as of Unicode 14. @pre it is UTF-8
/// @throws Error kMemory if there is too little
std::string composed(std::string_view text);
/// A code point in UTF-8. @pre it is at most 0x10FFFF and no surrogate
std::string to_utf8(char32_t code_point);

}  // namespace halftone::lm
