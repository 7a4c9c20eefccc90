// SPDX-License-Identifier: Apache-2.0
// Regular expressions as sets of texts.
#pragma once

#include <string_view>

#include "halftone/lm/constrain/regular_sets.h"

namespace halftone::lm {

/// The texts in which a regular expression of JSON Schema finds something (ECMA-262, as section 6.4
/// of the specification recommends): characters, escapes, classes, groups, "|", "*", "+", "?",
/// "{m,n}", "^", "$" and look-ahead. \d, \w, \s and their opposites are of ASCII, and "." is no end
/// of a line: what the flavours of regular expressions have in common.
/// @throws Error kFormat of what is no regular expression; kUnsupported of look-behind, references
///         to groups, borders of words, classes of Unicode, and look-ahead and ends in what is
///         repeated without a bound
RegularSets::Id pattern_set(RegularSets& sets, std::string_view pattern);

/// The texts that a regular expression describes as a whole.
/// @throws Error as pattern_set(); kUsage if there is none
Grammar grammar_of_pattern(std::string_view pattern);

}  // namespace halftone::lm
