// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Computes with one row instead of one row for every sample, where a constant is repeated for the
/// samples. PyTorch starts unrolled recurrent layers so:
///
///     [0]
///      |
///     BroadcastTo [N, 32]
///      |
///     FullyConnected [N, 8]   x      ->    [FullyConnected(0)]   x
///          \                 /                  \               /
///                 Add                                  Add
///
/// A Reshape, Slice or Transpose of a repeated number repeats it in another shape. A FullyConnected
/// of a repeated number repeats its result for one row. A Binary reads the constant itself, or
/// repeats its result if the other operand is a constant too.
/// @return whether the graph changed
bool fold_broadcasts(ir::Graph& graph);

}  // namespace halftone::passes
