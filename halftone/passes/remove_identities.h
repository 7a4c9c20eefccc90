// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Removes operators that give back what they were given.
///
///     x                              x
///     |                              |
///     Identity, Cast to x's type,    |     x               x
///     Reshape to x's shape,       -> |     |               |
///     Slice of all of x, Concat      |     Reshape   ->    Reshape
///     of x alone, Transpose that     |     |               |
///     moves no axis, x + 0, x - 0,   |     Reshape         y
///     x * 1, x / 1                   |     |
///     |                              |     y
///     y                              y
///
/// A neutral Add, Sub, Mul or Div with an activation becomes that activation. A pair of
/// QuantizeLinear and DequantizeLinear is no identity and stays. So does an operator whose input
/// and output both have a name to keep, as inputs or outputs of the graph.
/// @return whether the graph changed
bool remove_identities(ir::Graph& graph);

}  // namespace halftone::passes
