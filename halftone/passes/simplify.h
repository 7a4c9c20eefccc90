// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"
#include "halftone/passes/fold_constants.h"

namespace halftone::passes {

/// Runs every pass of this module in a fixed order until none changes the graph. The graph computes
/// the same function up to rounding; inputs and outputs keep their names and order.
/// @return whether the graph changed
/// @throws Error kFormat or kShape if the graph is invalid; see ir::verify()
bool simplify(ir::Graph& graph, const FoldOptions& options = {});

/// The same for a graph that is only executed: layers between conversions compute with integers
/// (use_integers()), and remaining integer constants become float32.
bool simplify_to_run(ir::Graph& graph);

}  // namespace halftone::passes
