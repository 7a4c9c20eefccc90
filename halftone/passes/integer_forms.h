// SPDX-License-Identifier: Apache-2.0
// The rewrites of use_integers(). Each looks at one node and returns whether the graph changed; the
// caller removes nodes that lost their readers.
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Moves a DequantizeLinear behind an operator that only moves or compares elements: layouts,
/// slices, padding with a representable value, maxima and minima of codes with equal meaning. The
/// values stay the same, and the operator works on bytes.
///
///     q           q
///     |           |
///     Dequantize  MaxPool
///     |       ->  |
///     MaxPool     Dequantize
bool read_codes_later(ir::Graph& graph, ir::NodeId id);

/// Turns a FullyConnected or Conv of codes with constant weights into an integer layer, and the
/// QuantizeLinear behind it into a Requantize.
bool use_integer_product(ir::Graph& graph, ir::NodeId id);

/// A sum, difference or product of two codes with TensorFlow Lite's arithmetic: a Lookup to int32
/// for each operand, and a Requantize.
bool use_integer_binary(ir::Graph& graph, ir::NodeId id);

/// A mean over a window or over axes, or a sum over axes, with TensorFlow Lite's arithmetic.
bool use_integer_mean(ir::Graph& graph, ir::NodeId id);

/// A Softmax over the last axis that reads codes, with TensorFlow Lite's arithmetic.
bool use_softmax_of_codes(ir::Graph& graph, ir::NodeId id);

/// Converts the operands of a Concat to codes of the result's scale before the Concat.
bool quantize_before_concat(ir::Graph& graph, ir::NodeId id);

/// Replaces an elementwise path from codes to codes by a Lookup, or by nothing if the codes stay
/// the same. The table holds the result of the operators for every code; for a target with integer
/// arithmetic, that of TensorFlow Lite's kernels.
bool use_table(ir::Graph& graph, ir::NodeId id);

}  // namespace halftone::passes
