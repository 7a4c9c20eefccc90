// SPDX-License-Identifier: Apache-2.0
// Parts of a network that hang together by one value at either end.
#pragma once

#include <map>
#include <optional>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::compress {

/// The values that all that comes later depends on alone, in order of execution: behind each of
/// them a block begins. For a residual network these are the sums.
std::vector<ir::ValueId> block_ends(const ir::Graph& graph);

/// A block as a graph of its own for a fixed batch, with the values' ids of the whole graph.
struct Block {
  ir::Graph graph;                            ///< one input, one output
  std::map<ir::ValueId, ir::ValueId> copies;  ///< by value of the whole graph
};

/// What computes `to` from `from`; nothing if `to` also depends on an input of the graph or does
/// not depend on `from`, or a value of it has no batch as its first extent.
std::optional<Block> extract_block(const ir::Graph& graph, ir::ValueId from, ir::ValueId to,
                                   std::size_t batch);

}  // namespace halftone::compress
