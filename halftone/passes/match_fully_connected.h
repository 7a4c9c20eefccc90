// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Turns products with a stored matrix into layers, whose weights can be encoded.
///
///     x    [b: k x o]            x    [b^T: o x k]
///      \    /             ->      \    /
///      MatMul                  FullyConnected
///
/// The matrix may also be dequantized from stored integers. Then a Transpose follows the
/// DequantizeLinear, and remove_transposes() moves it into the constant.
/// @return whether the graph changed
bool match_fully_connected(ir::Graph& graph);

}  // namespace halftone::passes
