// SPDX-License-Identifier: Apache-2.0
// Makes untrusted text (names in files, arguments) safe to print on a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace halftone {

/// Escapes as \xHH each byte that is not part of valid UTF-8 or that belongs to a control character
/// other than a line feed: also those that turn the direction of text or end lines (U+061C, U+200E,
/// U+200F, U+2028 to U+202E, U+2066 to U+2069), and what is none (U+FFFE, U+FFFF). Valid printable
/// text is returned unchanged. Source: Unicode 15, table 3-7 (well-formed UTF-8 byte sequences).
std::string printable(std::string_view text);

/// The same of a name or a message of one line: line feeds are escaped too.
std::string printable_line(std::string_view text);

/// A number for a message: as std::to_string(), but "NaN" whatever its sign.
std::string number_text(double x);

/// At most `max_bytes` bytes of a printable text. A longer text keeps its beginning and its end,
/// with " ... (N bytes omitted) ... " between them; no UTF-8 sequence is cut.
/// @pre max_bytes >= 100
std::string shortened(std::string_view text, std::size_t max_bytes);

}  // namespace halftone
