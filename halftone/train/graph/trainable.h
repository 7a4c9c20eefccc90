// SPDX-License-Identifier: Apache-2.0
// What of a network training changes, and through which nodes its gradient flows.
#pragma once

#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::train {

/// The constants that training changes, each once, in the order in which nodes read them: weights
/// and biases of FullyConnected, Conv, ConvTranspose and Recurrent (its peepholes too), a constant
/// side of a MatMul, the table of a Gather, and what a Mul, Add, Sub or Div by a constant does to
/// the output of a Normalize, be it reshaped or transposed on the way. Dense float32, or codes.
/// All others are part of what the network is: they scale its inputs, shift, compare.
std::vector<ir::ValueId> trainable_constants(const ir::Graph& graph);

/// The nodes, in order of execution, that a gradient from an output of real numbers to one of
/// these constants passes. Only real numbers have one: it ends at places, answers, and integers.
std::vector<ir::NodeId> nodes_with_gradient(const ir::Graph& graph,
                                            const std::vector<ir::ValueId>& constants);

/// Whether a node multiplies with weights or looks them up: what quantized training replaces the
/// inputs of. FullyConnected, MatMul, Conv, ConvTranspose, Recurrent, Gather.
bool reads_weights(const ir::Operator& op);

}  // namespace halftone::train
