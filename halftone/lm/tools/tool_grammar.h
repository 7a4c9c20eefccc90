// SPDX-License-Identifier: Apache-2.0
// Calls of functions as a grammar.
#pragma once

#include <span>
#include <string_view>

#include "halftone/lm/constrain/grammar.h"
#include "halftone/lm/tools/tool_function.h"
#include "halftone/lm/tools/tool_notation.h"

namespace halftone::lm {

/// Calls of some functions in a notation, from the name of the first one on; their arguments follow
/// the schemas.
/// @param is_single  whether it is one call only
/// @throws Error as grammar_of_schema() and parameter_choices(), naming the function
Grammar grammar_of_calls(const ToolNotation& notation, std::span<const ToolFunction> functions,
                         bool is_single);

/// Whole answers that are JSON of a schema, or such calls with what begins the first one.
/// @throws Error as above
Grammar grammar_of_answers(const ToolNotation& notation, std::span<const ToolFunction> functions,
                           bool is_single, std::string_view schema);

}  // namespace halftone::lm
