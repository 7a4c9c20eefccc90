// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Finds a Gelu that an exporter wrote operator by operator, as exporters do for ONNX below
/// operator set 20.
///
///        x                                     x
///       / \                                    |
///      |   Div by sqrt 2              ->      Gelu
///      |   |                                   |
///      |   Erf                                 y
///      |   |
///      |   Add 1
///       \ /
///       Mul
///        |
///       Mul by 1/2
///        |
///        y
///
/// and the approximation x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2. Matches the formula
/// regardless of the order of sums and products and of how constants are split; constants may
/// deviate by 1e-4 of their value. No other node may read an intermediate value.
/// @return whether the graph changed
bool fuse_gelu(ir::Graph& graph);

}  // namespace halftone::passes
