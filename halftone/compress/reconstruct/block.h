// SPDX-License-Identifier: Apache-2.0
// Blocks: parts of a network with one input value and one output value.
#pragma once

#include <map>
#include <optional>
#include <span>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::compress {

/// The values at which a block can end, in order of execution: all later nodes depend on the
/// earlier ones only through such a value. In a residual network these are the sums.
std::vector<ir::ValueId> block_ends(const ir::Graph& graph);

/// The input and output value of a block, and its layers.
struct BlockSpan {
  ir::ValueId from = ir::kAbsent;
  ir::ValueId to = ir::kAbsent;
  std::vector<ir::NodeId> layers{};  ///< in order of execution
};

/// The blocks that contain layers, in order of execution: each spans from the last block end before
/// a layer to the first one after it. A recurrence shares a block with the projection of its gates.
/// Block inputs and outputs are float32 with the batch as their first extent. Layers without such a
/// value between them share a block; layers before the first such value have no block.
/// @param layers  the layers to be refined
std::vector<BlockSpan> layer_blocks(const ir::Graph& graph, std::span<const ir::NodeId> layers);

/// Blocks of one layer each, in order of execution, from its input to its output. An activation
/// function that alone reads the layer's output belongs to the block. Layers whose input or output
/// is not float32 with the batch as its first extent have no block.
/// @param layers  the layers to be refined, in order of execution
std::vector<BlockSpan> single_layer_blocks(const ir::Graph& graph,
                                           std::span<const ir::NodeId> layers);

/// A block as a separate graph for a fixed batch, with a map from the values of the whole graph.
struct Block {
  ir::Graph graph;                            ///< one input, one output
  std::map<ir::ValueId, ir::ValueId> copies;  ///< keyed by value of the whole graph
};

/// The block that computes `to` from `from`; nullopt if `to` also depends on an input of the graph
/// or does not depend on `from`, or if the first extent of a value in the block is not the batch.
std::optional<Block> extract_block(const ir::Graph& graph, ir::ValueId from, ir::ValueId to,
                                   std::size_t batch);

}  // namespace halftone::compress
