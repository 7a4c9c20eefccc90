// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// How many samples a run of a graph without symbolic batch takes: the first extent of its first
/// input, 1 where there is none. Nothing if some input has a symbolic batch.
std::optional<std::size_t> fixed_batch(const Graph& graph);

/// Makes the leading 1 of every input the batch, if the whole graph then means the same for each
/// sample: reshapes to a leading 1 become reshapes to a leading batch, every type is inferred
/// anew, and no operator mixes samples. Else the graph stays as it is.
/// @return whether the batch is symbolic now
bool try_symbolic_batch(Graph& graph);

}  // namespace halftone::ir
