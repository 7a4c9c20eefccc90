// SPDX-License-Identifier: Apache-2.0
// Texts as Python has them, of code points, that know which of them a message brought.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace halftone::lm::jinja {

/// Set in a code point that comes from a message, not from the template. It goes where the code
/// point goes: through slices, replacements, joins. Comparisons do not see it.
inline constexpr char32_t kFromMessage = 0x80000000;

inline constexpr char32_t plain(char32_t c) { return c & ~kFromMessage; }

struct PlainTraits : std::char_traits<char32_t> {
  static constexpr bool eq(char32_t a, char32_t b) { return plain(a) == plain(b); }
  static constexpr bool lt(char32_t a, char32_t b) { return plain(a) < plain(b); }
  static int compare(const char32_t* a, const char32_t* b, std::size_t count);
  static const char32_t* find(const char32_t* text, std::size_t count, const char32_t& wanted);
};

using Text = std::basic_string<char32_t, PlainTraits>;
using TextView = std::basic_string_view<char32_t, PlainTraits>;

/// @pre the text is UTF-8, as check_utf8() says
Text from_utf8(std::string_view text, bool from_message = false);
std::string to_utf8_text(TextView text);

/// What Python's str.isspace() says of one character.
bool is_space(char32_t c);
bool is_upper(char32_t c);
bool is_lower(char32_t c);
bool is_letter(char32_t c);
bool is_decimal(char32_t c);

Text upper(TextView text);
Text lower(TextView text);
/// The first letter of each word in title case, the others in lower case.
Text title(TextView text);
Text capitalized(TextView text);

enum class Side { kLeft, kRight, kBoth };
/// Without the characters of a set at its sides; an empty set is white space.
TextView stripped(TextView text, TextView set, Side side);

/// Parts that a text is cut into: each takes some hundred bytes.
inline constexpr std::size_t kMaxParts = 1'000'000;
/// @throws Error kUnsupported above kMaxParts
void check_parts(std::size_t count);

/// As str.split() and str.rsplit(): an empty separator is runs of white space.
/// @param most    splits at most; negative: any number
/// @throws Error  as check_parts()
std::vector<Text> split(TextView text, TextView separator, std::ptrdiff_t most, bool from_right);
/// As str.splitlines(). @throws Error as check_parts()
std::vector<Text> split_lines(TextView text, bool keeps_ends);
/// As str.replace(): a negative count replaces all. @return at most `max_size` characters are built
/// @throws Error kUnsupported beyond these
Text replaced(TextView text, TextView old, TextView with, std::ptrdiff_t count,
              std::size_t max_size);

}  // namespace halftone::lm::jinja
