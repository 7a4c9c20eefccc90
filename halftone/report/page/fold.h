// SPDX-License-Identifier: Apache-2.0
// Finds the blocks of a network.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/report/page/report_graph.h"

namespace halftone::report::page {

/// Nodes that a picture shows as one box.
struct Block {
  std::string name;
  std::vector<std::size_t> nodes;  ///< indices in the graph, ascending
};

/// Splits nodes into blocks, so that a picture of the blocks has an order: no block depends on
/// another that depends on it. Blocks are the nodes with a common beginning of their names, up to a
/// '/' or '.'; where the names do not tell, the regions between values through which all paths go,
/// each with the nodes behind it up to the next layer; and consecutive blocks are combined where
/// they are more than a picture shows.
/// @param nodes  indices of the graph, ascending
/// @return       blocks in an order in which each depends on earlier ones only; one block per node
///               if the nodes are few
std::vector<Block> blocks_of(const ReportGraph& graph, const std::vector<std::size_t>& nodes,
                             std::size_t max_nodes);

}  // namespace halftone::report::page
