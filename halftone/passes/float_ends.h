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
/// An input takes the scale of the DequantizeLinear that reads it, an output that of the
/// QuantizeLinear that computes it; others stay unchanged.
/// @return whether the graph changed
bool give_float_ends(ir::Graph& graph);

}  // namespace halftone::passes
