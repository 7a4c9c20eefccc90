// SPDX-License-Identifier: Apache-2.0
// What Unicode says of characters, as of its version 13 or later.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::lm {

enum class NormalForm : std::uint8_t { kC, kD, kKC, kKD };

/// The text in a normal form of Unicode. @pre it is UTF-8
/// @throws Error kMemory if there is too little
std::string in_normal_form(std::string_view text, NormalForm form);
/// Lower case, character by character. @pre the text is UTF-8
std::string in_lower_case(std::string_view text);
/// The characters as users count them. Source: Unicode's annex 29, extended grapheme clusters.
/// @pre the text is UTF-8
std::vector<std::string_view> grapheme_clusters(std::string_view text);

bool is_white_space(char32_t character);       ///< Unicode's property White_Space
bool is_letter(char32_t character);            ///< categories L
bool is_mark(char32_t character);              ///< categories M
bool is_nonspacing_mark(char32_t character);   ///< category Mn
bool is_number(char32_t character);            ///< categories N
bool is_punctuation(char32_t character);       ///< categories P, and what else ASCII has
bool is_control_or_other(char32_t character);  ///< categories Cc, Cf, Co
/// \w of regular expressions: letters, marks, digits, connectors, and what else is alphabetic.
/// Source: Unicode's standard 18, annex C.
bool is_word_character(char32_t character);
/// Ideographs of Chinese, as BERT's tokenization.py lists their blocks.
bool is_chinese(char32_t character);

}  // namespace halftone::lm
