// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"
#include "halftone/passes/fold_constants.h"

namespace halftone::passes {

/// Runs every pass of this module, in a fixed order, until none finds anything to do. The graph
/// computes the same function up to rounding, with the same inputs and outputs by name and order.
/// @return whether the graph changed
/// @throws Error kFormat or kShape if the graph is not whole; see ir::verify()
bool simplify(ir::Graph& graph, const FoldOptions& options = {});

/// The same for a graph that is only to be run: layers between conversions compute with integers
/// (use_integers()), and what is left of constants in integers becomes float32.
bool simplify_to_run(ir::Graph& graph);

}  // namespace halftone::passes
