// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Moves transposes towards the outputs until they meet and cancel.
///
///     x                                               x
///     |                                               |
///     Transpose  [c]      x   [c']                    Relu(x + c')
///           \    /         \  /                       |
///            Add      ->    Add      ->  ...   ->     |
///             |              |                        |
///            Relu           Transpose                 |
///             |              |                        |
///         Transpose         Relu                      |
///             |              |                        |
///             y             Transpose                 y
///                            |
///                            y
///
/// A transpose passes an operator if all that is transposed comes in by the same permutation and
/// every other reader lets it pass too: functions of one number, operators of two operands
/// (constants are transposed the other way), and those that ir::before_transpose() maps. Two in a
/// row become one, one that only moves axes of extent 1 becomes a Reshape, and one behind a
/// DequantizeLinear of a constant is applied to the constant.
/// @return whether the graph changed
bool remove_transposes(ir::Graph& graph);

}  // namespace halftone::passes
