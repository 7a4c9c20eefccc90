// SPDX-License-Identifier: Apache-2.0
// Which form codes take between the node that makes them and those that read them.
#pragma once

#include <vector>

#include "halftone/runtime/plan/plan.h"

namespace halftone::runtime {

/// Decides for every value of a graph; dense ones and constants are kPlanes, which means nothing
/// for them. Codes are kInt8 where all who read them have an implementation that reads integers,
/// and the cheapest such implementations together cost less than the cheapest that read bits.
/// @return by value
std::vector<CodeLayout> choose_code_layouts(const ir::Graph& graph, const PlanOptions& options);

}  // namespace halftone::runtime
