// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Lets layers between conversions compute with the integers themselves.
///
///      q        [w]      [b]                      q   [w]  [b]
///      |         |        |                        \   |   /
///  Dequantize Dequantize Dequantize      ->    layer of integers
///       \        |       /                             |
///          layer (Relu)                            Requantize
///               |                                      |
///           Quantize                                   p
///               |
///               p
///
/// The layer is a FullyConnected or a Conv; its weights are constant, with one scale or one for
/// each output; its bias is absent, float32, or int32 on the product of the scales of q and w. A
/// float bias is rounded to that product. A fused activation is one that bounds: none, Relu, Relu6,
/// ReluN1To1 or Clip. The sums are exact, so that what comes out differs from the float computation
/// by the rounding of that alone.
/// @return whether the graph changed
bool use_integers(ir::Graph& graph);

}  // namespace halftone::passes
