// SPDX-License-Identifier: Apache-2.0
// Export of a graph as an ONNX model.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::formats {

/// Writes a graph as an ONNX model: operator set 17, or the lowest later one that has every
/// operator used. Fused activations become separate nodes. A fully connected layer in a basis
/// becomes the operator FullyConnected of the domain "ai.halftone" (see README.md in this folder).
/// Equal graphs give equal bytes.
/// @throws Error kUnsupported, listing all nodes that ONNX has no operator for, in one line;
///         kFormat or kShape if ir::verify() rejects the graph
std::vector<std::byte> export_onnx(const ir::Graph& graph);

}  // namespace halftone::formats
