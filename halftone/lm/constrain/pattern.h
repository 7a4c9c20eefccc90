// SPDX-License-Identifier: Apache-2.0
// Regular expressions as choices of a grammar.
#pragma once

#include <functional>
#include <string_view>
#include <vector>

#include "halftone/lm/constrain/grammar.h"

namespace halftone::lm {

/// How one character of some ranges is written.
using CharacterChoices = std::function<Choices(std::vector<CharacterRange>)>;

/// Characters of a text.
struct LengthBounds {
  std::size_t least = 0;
  std::size_t most = kUnbounded;
};

/// The texts in which a regular expression of JSON Schema finds something (ECMA-262, as section 6.4
/// of the specification recommends): characters, escapes, classes, groups, "|", "*", "+", "?",
/// "{m,n}", and "^" and "$" at the ends of its outer choices. \d, \w, \s and their opposites are of
/// ASCII, and "." is no end of a line: what the flavours of regular expressions have in common.
/// @param lengths  of the texts
/// @throws Error kFormat of what is no regular expression; kUnsupported of look-around, references
///         to groups, borders of words and classes of Unicode, and of lengths that more than one
///         repeated character would have to follow
Choices pattern_choices(Grammar& grammar, std::string_view pattern,
                        const CharacterChoices& characters, const LengthBounds& lengths = {});

}  // namespace halftone::lm
