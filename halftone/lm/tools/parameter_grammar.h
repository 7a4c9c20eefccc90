// SPDX-License-Identifier: Apache-2.0
// Arguments that are written one by one, as a grammar.
#pragma once

#include "halftone/lm/constrain/grammar.h"
#include "halftone/lm/tools/tool_function.h"
#include "halftone/lm/tools/tool_notation.h"

namespace halftone::lm {

/// The arguments of a function from behind its name to behind the last value. They follow its
/// schema and come in the order of it; a string has nothing of what ends it.
/// @param middle  in front of the first key
/// @throws Error as parameters_of() and grammar_of_schema(); kUsage if no arguments fit
Choices parameter_choices(Grammar& grammar, const ToolParameters& notation, const Choices& middle,
                          const ToolFunction& function);

}  // namespace halftone::lm
