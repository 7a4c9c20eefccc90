// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph are one recurrence.
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::runtime {

/// Whether two nodes with the same inputs give the rows of a recurrence and the state after them,
/// nothing else reads the state, and it is tied: the first then changes the state in place, and the
/// second has nothing to do.
/// @param state  its input and its output
bool is_recurrence(const ir::Graph& graph, const ir::State& state);
/// Whether a node is one of such two.
bool is_in_recurrence(const ir::Graph& graph, const ir::Node& node);

}  // namespace halftone::runtime
