// SPDX-License-Identifier: Apache-2.0
// From a graph to the bytes of an ONNX model.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Writes a graph as an ONNX model: operator set 17, or the lowest above it that has every operator
/// used; fused activations become nodes of their own; a fully connected layer in a basis becomes
/// the operator FullyConnected of the domain "ai.halftone" (see the README beside this file). The
/// same graph gives the same bytes.
/// @throws Error kUnsupported with all nodes that ONNX has no operator for, in one line; kFormat or
///         kShape if ir::verify() refuses the graph
std::vector<std::byte> export_onnx(const ir::Graph& graph);

}  // namespace halftone::formats
