// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Makes layers that give cells, of which nobody reads any, give their hidden states alone.
/// @return whether anything changed
bool drop_unused_cells(ir::Graph& graph);

/// Makes states (ir::State) of what recurrent layers remember, so that runs on the parts of a
/// sequence, one after the other, compute what one run on the whole sequence does: a layer that
/// starts from zeros starts from where the last run ended instead. A layer whose start is computed
/// or an input of the graph keeps it.
/// @return the number of new states
/// @throws Error kUnsupported "node 'NAME' (Recurrent): ..." for a layer that reads its sequence
///         backwards, whose sequences have lengths, or that starts from constants other than zero
std::size_t keep_recurrent_states(ir::Graph& graph);

}  // namespace halftone::passes
