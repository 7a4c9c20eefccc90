// SPDX-License-Identifier: Apache-2.0
// Chooses the memory layout of codes between their producer and their readers.
#pragma once

#include <vector>

#include "halftone/runtime/plan/plan.h"

namespace halftone::runtime {

/// Chooses a layout for every value of a graph. Dense values and constants get kPlanes, which has
/// no effect. Codes are kInt8 if every reader has an implementation that reads integers and the
/// cheapest such implementations together cost less than the cheapest that read bits.
/// @return by value
std::vector<CodeLayout> choose_code_layouts(const ir::Graph& graph, const PlanOptions& options);

}  // namespace halftone::runtime
