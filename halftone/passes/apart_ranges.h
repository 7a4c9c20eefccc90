// SPDX-License-Identifier: Apache-2.0
// Values whose parts differ so much that one scale of 8 bits loses the smaller ones.
#pragma once

#include <map>
#include <set>
#include <string>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/numerics/scale_rule.h"
#include "halftone/passes/code_plan.h"

namespace halftone::passes {

/// The ratio of two magnitudes from which the smaller has fewer than 8 of the 256 codes of the
/// larger.
inline constexpr double kFarApart = 32;

/// What must not have codes of one scale, and what a person should know about it.
struct ApartRanges {
  std::set<std::string> float_nodes;  ///< names of operators that stay float32
  std::vector<std::string> notes;     ///< one line each
};

/// Finds each Concat that joins parts kFarApart or more, as boxes in pixels and scores: directly or
/// through operators that move elements and other Concats. It stays float32, and so do operators
/// other than layers that read its result. A sum of operands kFarApart has codes and a note.
/// @param wanted  operators that may compute with codes
/// @param ranges  of at least values_for_codes()
ApartRanges find_apart_ranges(const ir::Graph& graph, const WantsCodes& wanted,
                              const std::map<ir::ValueId, numerics::ValueRange>& ranges);

}  // namespace halftone::passes
