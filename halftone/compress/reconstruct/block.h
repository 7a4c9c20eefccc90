// SPDX-License-Identifier: Apache-2.0
// Parts of a network that hang together by one value at either end.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::compress {

/// The values that all that comes later depends on alone, in order of execution: behind each of
/// them a block begins. For a residual network these are the sums.
std::vector<ir::ValueId> block_ends(const ir::Graph& graph);

/// Where a block begins and ends.
struct BlockSpan {
  ir::ValueId from = ir::kAbsent;
  ir::ValueId to = ir::kAbsent;

  bool operator==(const BlockSpan&) const = default;
};

/// The blocks that layers stand in, in order of execution: from the last value that all depends on
/// before a layer to the first one behind it. A recurrence stands in one block with what projects
/// its gates. Values are float32 with the batch as their first extent; where there is none, layers
/// share a block, and those in front of the first one have none.
/// @param layers  those that are to be refined
std::vector<BlockSpan> layer_blocks(const ir::Graph& graph, std::span<const ir::NodeId> layers);

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
