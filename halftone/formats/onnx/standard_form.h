// SPDX-License-Identifier: Apache-2.0
// A network with codes as ONNX's own operators can hold it.
#pragma once

#include "halftone/formats/options.h"
#include "halftone/ir/graph.h"

namespace halftone::formats {

/// The same network, up to rounding, with codes that operators of ONNX can read:
///
/// - weights in `int` or `affine` of 4 or 8 bits (2 too for MatMulNBits), where the zero point is
/// an
///   integer, or in a float of up to eight bits; scales are float32. Levels that are multiples of a
///   power of two take the next number of bits. Groups of a convolution are cut at its taps.
///   Other weights, such as learned levels, are looked up in a table; see onnx::add_table(). Those
///   that would be no smaller than float32, and those of recurrent layers, are float32;
/// - inputs in evenly spaced levels rounded by QuantizeLinear and DequantizeLinear of 8 bits,
/// behind
///   a Clip if they have fewer, between a Sub and an Add if zero is no level; inputs in a float of
///   up to eight bits stay an Encode, others are rounded by ir::add_encode().
///
/// Layers with codes have Arithmetic::kFloat: the standard form has no other. With inputs and
/// weights of 8-bit integers a reader may multiply integers, which differs by rounding alone.
/// @throws Error kUnsupported, naming all layers whose codes have no such form, in one line
ir::Graph standard_form(const ir::Graph& graph, const ExportOptions& options);

}  // namespace halftone::formats
