// SPDX-License-Identifier: Apache-2.0
// What rules of a grammar give, and which begin with themselves.
#pragma once

#include <vector>

#include "halftone/lm/constrain/grammar.h"

namespace halftone::lm {

/// By rule, whether it has a choice all of whose symbols give something: a set as `of_sets` says, a
/// rule if it has such a choice itself. With the sets that have bytes, these are the rules that
/// some text fits; with no set, those that the empty text fits.
std::vector<bool> rules_that_give(const std::vector<Grammar::Rule>& rules,
                                  const std::vector<bool>& of_sets);

/// Rules that begin with themselves grow without reading a byte, unless nothing follows there.
/// @throws Error kUsage that names one
void check_left_recursion(const Grammar& grammar);

}  // namespace halftone::lm
