// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <optional>

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// The number of samples per run of a graph without a symbolic batch: the first extent of its first
/// input, or 1 if there is none. Nothing if some input has a symbolic batch.
std::optional<std::size_t> fixed_batch(const Graph& graph);

/// Replaces the leading 1 of every input by the batch, or the first extent of 1 in a sequence or
/// states [T, 1, C], if the graph then computes the same result for each sample: reshapes keep the
/// batch where it is, constants beside it are repeated, all types are inferred again, and no
/// operator may mix samples. Otherwise the graph stays unchanged.
/// @return whether the batch is symbolic now
bool try_symbolic_batch(Graph& graph);

/// Replaces the symbolic batch by a number of samples, in types and attributes. Ids stay.
/// @throws Error kShape as with_batch() and Graph::infer_all()
void fill_in_batch(Graph& graph, std::size_t batch);

}  // namespace halftone::ir
