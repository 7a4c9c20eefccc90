// SPDX-License-Identifier: Apache-2.0
// Between codes and float32: decode_codes(), insert_codes(), and the ends of integer networks.
#pragma once

#include <string>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Replaces codes by the numbers they represent, so that any runtime can compute the network with
/// its operators for float32.
///
///      x   [codes]               x         [W]
///      |      |                  |          |
///     Encode  |          step function      |
///        \    |      ->           \         |
///     layer of codes           layer of float32
///
/// Weights are decoded. Activations are rounded to the same levels as before, exactly (see
/// add_step_function()). Scales that a FakeQuantize computes at run time are computed by operators,
/// powers of two exactly, others within a rounding of float32. Layers compute with float32: no
/// operand is rounded to 8-bit integers any more. Finite inputs are assumed: NaN takes the lowest
/// level.
/// @return whether the graph changed
/// @throws Error kUnsupported that lists the layers: recurrent ones whose states are in codes,
///         since no operator rounds within the recurrence; and inputs whose scales share factors
///         within a row (int_k, affine_k)
bool decode_codes(ir::Graph& graph);

/// Replaces weights of 8-bit numbers by the float32 that they represent, in layers whose other
/// inputs are float32: files of other programs store weights alone in bytes. Layers in fewer bits,
/// and those whose inputs are in codes, stay.
void decode_bytes(ir::Graph& graph);

/// The names of layers whose weights are in codes.
std::vector<std::string> layers_in_codes(const ir::Graph& graph);

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
