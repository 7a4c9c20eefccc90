// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// Checks everything the rest of Halftone takes for granted about a graph: it has outputs,
/// no cycle, every value read is an input, a constant or computed by a living node, types
/// are what the operators' rules infer, constants have finite bases, their promised extents and
/// zero tail bits. Importers and passes end with it.
/// @throws Error kFormat or kShape that names the node or value at fault
void verify(const Graph& graph);

}  // namespace halftone::ir
