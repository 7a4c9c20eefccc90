// SPDX-License-Identifier: Apache-2.0
// The rewritings use_integers() is made of. Each looks at one node and says whether the graph
// changed; nodes that are no longer read stay for the caller to remove.
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Reads codes behind an operator that only moves or compares what it reads, instead of before it:
/// layouts, slices, padding with a number there is a code for, maxima and minima of codes that
/// stand for the same numbers. The numbers stay the same, the operator works on bytes.
///
///     q           q
///     |           |
///     Dequantize  MaxPool
///     |       ->  |
///     MaxPool     Dequantize
bool read_codes_later(ir::Graph& graph, ir::NodeId id);

/// A FullyConnected or Conv of codes with constant weights becomes one of integers, and the
/// QuantizeLinear behind it a Requantize.
bool use_integer_product(ir::Graph& graph, ir::NodeId id);

/// A sum, difference or product of two codes, as TensorFlow Lite computes it: int32 from a Lookup
/// for each operand, and a Requantize.
bool use_integer_binary(ir::Graph& graph, ir::NodeId id);

/// A mean over a window or over axes, or a sum over axes, as TensorFlow Lite computes it.
bool use_integer_mean(ir::Graph& graph, ir::NodeId id);

/// A Softmax over the last axis, as TensorFlow Lite computes it, reads the codes themselves.
bool use_softmax_of_codes(ir::Graph& graph, ir::NodeId id);

/// Codes joined with others of another scale become codes of the result's before that.
bool quantize_before_concat(ir::Graph& graph, ir::NodeId id);

/// What leads from codes to codes element by element becomes a Lookup, or nothing where the codes
/// stay what they are. The table holds the values of the operators on every code; where the target
/// is meant in integers, those of TensorFlow Lite's.
bool use_table(ir::Graph& graph, ir::NodeId id);

}  // namespace halftone::passes
