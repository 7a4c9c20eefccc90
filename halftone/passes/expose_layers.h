// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Turns products with constants that match_fully_connected() ignores into layers, whose weights
/// can be encoded: products where the constant is on the left, is a vector or has one matrix per
/// head, or where the other operand is transposed.
///
///     W  x              x              x  [.., H, t, k]           x
///     |  |              |              |                          |
///     MatMul            Transpose      MatMul  [H, k, n]          Transpose  [N, t, H k]
///     |           ->    |              |                  ->      |
///     y                 layer  W       y                          Conv of H groups, one tap
///                       |                                         |
///                       Transpose                                 Transpose
///                       y                                         y
///
/// If the other operand has no head axis, one FullyConnected computes all heads. Meant for graphs
/// to be quantized: float networks run faster unchanged.
/// @param wanted  whether to turn a product into a layer, which keeps its name
/// @return whether the graph changed; run simplify() afterwards to cancel transposes
bool expose_layers(ir::Graph& graph, const std::function<bool(const ir::Node&)>& wanted);

}  // namespace halftone::passes
