// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Replaces computations between conversions by integer arithmetic.
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
/// A layer is a FullyConnected or a Conv. Its weights are constant, with one scale or one per
/// output. Its bias is absent, float32 (rounded to the product of the scales of q and w), or int32
/// on that product. A fused activation must be one with bounds: none, Relu, Relu6, ReluN1To1 or
/// Clip. Functions of single codes become a Lookup with the same values. Operators that only move
/// or compare elements work on the codes.
///
/// The rounding of the QuantizeLinear selects the arithmetic. With kHalfEven (ONNX), sums are exact
/// and rounded once, so results differ from the float computation only by its rounding; all other
/// operators stay in float32. With kHalfAway (TensorFlow Lite), the results equal those of the
/// reference kernels of LiteRT 2.3, code for code, also for sums, products and means of codes,
/// Softmax and functions of one code (sources: see the implementations of integer_forms.h). A
/// FullyConnected rounds once, its product in float64, ties away from zero. The exceptions are
/// computed in float32 and rounded once: transposed convolutions, products of two computed
/// matrices, bilinear resizing, quotients, powers, squared differences, norms. They differ by at
/// most one step if the float result is halfway between two codes.
/// @return whether the graph changed
bool use_integers(ir::Graph& graph);

}  // namespace halftone::passes
