// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// Checks what the other modules assume about a graph: it has outputs and no cycle; every value
/// that is read is an input, a constant or the output of a node; types equal those that the
/// operators' rules infer; constants have finite bases, the extents of their types and zero tail
/// bits; floats of 16 bits are constants that a Cast reads; codes fit the arithmetic of a layer.
/// Importers and passes call it last.
/// A graph that has not changed since is not checked again.
/// @throws Error kFormat or kShape that names the node or value at fault
void verify(const Graph& graph);

}  // namespace halftone::ir
