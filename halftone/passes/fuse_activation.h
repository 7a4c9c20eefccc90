// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Moves an activation into the operator whose output only it reads.
///
///     x  [w]  [b]                     x  [w]  [b]
///      \  |  /                         \  |  /
///    FullyConnected         ->       FullyConnected, Relu
///         |
///        Relu
///
/// Applies to FullyConnected and binary operators without an activation.
/// @return whether the graph changed
bool fuse_activation(ir::Graph& graph);

}  // namespace halftone::passes
