// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <functional>

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Makes layers, whose weights can be encoded, of products with constants that
/// match_fully_connected() leaves as they are: where the constant is on the left, has a matrix for
/// each of some heads or is a vector, or where the other side is transposed.
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
/// Where the other side has no heads of its own, one FullyConnected computes those of all. For a
/// graph that is to be quantized: float networks run faster as they were.
/// @param wanted  whether a product is to become a layer, which keeps its name
/// @return whether the graph changed; simplify() then lets transposes meet
bool expose_layers(ir::Graph& graph, const std::function<bool(const ir::Node&)>& wanted);

}  // namespace halftone::passes
