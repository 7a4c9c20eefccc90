// SPDX-License-Identifier: Apache-2.0
// The constants that training changes, and the nodes that their gradients pass.
#pragma once

#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::train {

/// The constants that training changes, each once, in the order in which nodes read them: weights
/// and biases of FullyConnected, Conv, ConvTranspose and Recurrent (its peepholes too), a constant
/// operand of a MatMul, the table of a Gather, and the constant operand of a Mul, Add, Sub or Div
/// applied to the output of a Normalize, possibly after Reshape or Transpose. They are float32 or
/// encoded. All other constants are fixed: they scale or shift inputs, or are compared with.
std::vector<ir::ValueId> trainable_constants(const ir::Graph& graph);

/// The nodes, in order of execution, on a gradient's path from a float output to one of these
/// constants. Only floats have gradients: paths end at indices, booleans and integers.
std::vector<ir::NodeId> nodes_with_gradient(const ir::Graph& graph,
                                            const std::vector<ir::ValueId>& constants);

/// Whether a node multiplies with weights or looks them up (FullyConnected, MatMul, Conv,
/// ConvTranspose, Recurrent, Gather). Quantized training replaces the inputs of these nodes.
bool reads_weights(const ir::Operator& op);

}  // namespace halftone::train
