// SPDX-License-Identifier: Apache-2.0
// Chooses the memory layout of codes between their producer and their readers.
#pragma once

#include <vector>

#include "halftone/runtime/plan/plan.h"

namespace halftone::runtime {

/// Chooses a layout for every value of a graph: the one that its readers prefer. Dense values and
/// constants get kPlanes, which has no effect. An Encode whose readers prefer different layouts is
/// split, so that the arithmetic of a layer does not depend on the layer beside it.
/// @return by value
std::vector<CodeLayout> choose_code_layouts(ir::Graph& graph, const PlanOptions& options);

}  // namespace halftone::runtime
