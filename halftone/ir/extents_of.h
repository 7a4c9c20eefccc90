// SPDX-License-Identifier: Apache-2.0
// Gives a graph that grew from another one the extents of a third.
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// A graph that grew from one, also beside it, with the extents of another one: symbols or other
/// numbers, in types and attributes. Nodes with extents as attributes have the names of those that
/// they are copies of.
/// @param wanted  has the nodes, values and inputs of `from`, with other extents
/// @throws Error kUnsupported "node .. has extents that are those of the samples" if a node has
///         extents that no node of `from` had; kShape if the extents do not fit
Graph with_extents_of(Graph graph, const Graph& wanted, const Graph& from);

}  // namespace halftone::ir
