// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Removes operators that return their input.
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
/// QuantizeLinear and DequantizeLinear is not an identity and stays. An operator whose input and
/// output are both inputs or outputs of the graph also stays, because both names must be kept.
/// @return whether the graph changed
bool remove_identities(ir::Graph& graph);

}  // namespace halftone::passes
