// SPDX-License-Identifier: Apache-2.0
// Which form codes take between the node that makes them and those that read them.
#pragma once

#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::runtime {

/// How the codes of a value lie in the memory of a session.
enum class CodeLayout {
  kPlanes,  ///< bit planes as kernels::encode() writes them
  kInt8,    ///< levels as kernels::encode_int8() writes them, for layers that multiply integers
};

/// Decides for every value of a graph; dense ones and constants are kPlanes, which means nothing
/// for them. Codes are kInt8 where all who read them can multiply integers, and one of them cannot
/// multiply bits or would be slower at it.
/// @param int8_activations  as in PlanOptions; without, all are kPlanes
/// @return by value
std::vector<CodeLayout> choose_code_layouts(const ir::Graph& graph, bool int8_activations);

}  // namespace halftone::runtime
