// SPDX-License-Identifier: Apache-2.0
// Finds the nodes of a network that are layers with weights.
#pragma once

#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::compress {

/// The layers that quantize() can treat, in order of execution: FullyConnected, Conv, ConvTranspose
/// and Recurrent nodes with constant float weights, and Gather nodes along the first axis of a
/// constant float table [rows, width]; each depends on an input of the network.
std::vector<ir::NodeId> quantizable_layers(const ir::Graph& graph);

}  // namespace halftone::compress
