// SPDX-License-Identifier: Apache-2.0
// The record of a loop's results, which no file format has as a value.
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Whether nothing but LoopResults reads the record that a Loop gives. @param node  a Loop
bool is_taken_apart(const ir::Graph& graph, const ir::Node& node);

}  // namespace halftone::formats
