// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Lets what stands between conversions compute with the integers themselves.
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
/// A layer is a FullyConnected or a Conv; its weights are constant, with one scale or one for
/// each output; its bias is absent, float32, or int32 on the product of the scales of q and w. A
/// float bias is rounded to that product. A fused activation is one that bounds: none, Relu, Relu6,
/// ReluN1To1 or Clip. What maps codes to codes one by one becomes a Lookup with the same values,
/// and what only moves or compares numbers works on their codes.
///
/// The rounding of the QuantizeLinear says in which arithmetic. With kHalfEven (ONNX) sums are
/// exact and rounded once, so that what comes out differs from the float computation by the
/// rounding of that alone, and all other operators stay in float32. With kHalfAway (TensorFlow
/// Lite) the results are those of its reference kernels, code for code: also of sums, products and
/// means of codes, Softmax and functions of one code (the sources stand with each in
/// integer_forms.h's implementations). Exceptions, which are computed in float32 and rounded once:
/// transposed convolutions, products of two computed matrices, bilinear resizing, quotients,
/// powers, squared differences, norms; they differ by one step at most where the float result is
/// halfway between.
/// @return whether the graph changed
bool use_integers(ir::Graph& graph);

}  // namespace halftone::passes
