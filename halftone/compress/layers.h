// SPDX-License-Identifier: Apache-2.0
// Which nodes of a network are layers with weights.
#pragma once

#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::compress {

/// Whether an operator multiplies its input with a matrix of weights (input 1), one row per output,
/// and adds a bias (input 2): FullyConnected, Conv, ConvTranspose.
bool is_layer(const ir::Operator& op);

/// Whether an operator looks up rows of a table of weights (input 0): an embedding.
bool is_table(const ir::Operator& op);

/// The layers that quantize() can treat, in order of execution: FullyConnected, Conv, ConvTranspose
/// and Recurrent nodes with constant float weights, and Gather nodes along the first axis of a
/// constant float table [rows, width].
std::vector<ir::NodeId> quantizable_layers(const ir::Graph& graph);

}  // namespace halftone::compress
