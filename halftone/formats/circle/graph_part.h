// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::formats::circle {

/// Adds the nodes of a graph to another, with some values in place of its inputs.
/// @param prefix  of the names of nodes
/// @return        its outputs
std::vector<ir::ValueId> add_part(ir::Graph& graph, const ir::Graph& part,
                                  const std::vector<ir::ValueId>& inputs,
                                  const std::string& prefix);

}  // namespace halftone::formats::circle
