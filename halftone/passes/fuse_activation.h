// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Lets an operator apply the function its only reader applies.
///
///     x  [w]  [b]                     x  [w]  [b]
///      \  |  /                         \  |  /
///    FullyConnected         ->       FullyConnected, Relu
///         |
///        Relu
///
/// For FullyConnected and the operators of two operands that have no activation yet.
/// @return whether the graph changed
bool fuse_activation(ir::Graph& graph);

}  // namespace halftone::passes
