// SPDX-License-Identifier: Apache-2.0
// Grammars as users write them.
#pragma once

#include <string_view>

#include "halftone/lm/constrain/grammar.h"

namespace halftone::lm {

/// A grammar in the notation of llama.cpp (GBNF):
///   root   ::= answer ("," " "? answer){0,3}   # any number of rules; root is the whole text
///   answer ::= "yes" | "no" | [a-z]+ | [^"\x00-\x1F]
/// Texts and classes know \n, \r, \t, \\, \", \[, \], \xHH, \uHHHH and \UHHHHHHHH.
/// @throws Error kFormat that names the line of what is no grammar; kUsage as Grammar::set_root()
Grammar parse_grammar(std::string_view text);

}  // namespace halftone::lm
