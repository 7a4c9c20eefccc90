// SPDX-License-Identifier: Apache-2.0
// Shell patterns for names from files.
#pragma once

#include <string>
#include <string_view>

namespace halftone {

/// Whether a name matches: * ? [abc] as in a shell, \c is the character c, and \xHH the byte of
/// that number, as results show names.
bool matches_pattern(std::string_view pattern, std::string_view name);

/// The pattern, of printable text, that matches one name only.
std::string pattern_of(std::string_view name);

}  // namespace halftone
