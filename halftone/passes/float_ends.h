// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Gives an integer network float32 inputs and outputs, so that it runs on the data of the
/// corresponding float network.
///
///     int8 x        float32 x                   Quantize          Quantize
///       |               |                          |                 |
///   Dequantize  ->   Quantize                   int8 y    ->     Dequantize
///                       |                                            |
///                   Dequantize                                   float32 y
///
/// The scale is that of the conversions next to the end, also behind operators that only move
/// elements: ir::code_parameters(). Ends for which there is none stay unchanged.
/// @return whether the graph changed
bool give_float_ends(ir::Graph& graph);

/// Undoes give_float_ends() in a graph that has changed inside: an input or output that is of
/// integers in `original` becomes the codes next to its conversion. Without a conversion it stays
/// float32.
/// @param original  has the inputs and outputs of `graph`, in the same order
/// @return whether the graph changed
bool restore_ends(ir::Graph& graph, const ir::Graph& original);

}  // namespace halftone::passes
