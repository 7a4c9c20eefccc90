// SPDX-License-Identifier: Apache-2.0
// Rounding to number systems with the operators that every runtime has.
#pragma once

#include <span>
#include <string>

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// Adds nodes that compute y = values[number of thresholds below x] for every element of x. A
/// binary search: for values padded to 2^K, K steps of
///
///     h' = 2 h + (x > thresholds[2^(K-i-1) (2 h + 1) - 1]),   i = 0 ... K - 1, from h = 0
///
/// each a Gather, a comparison, a Cast and two sums of int32, and at the end a Gather of values[h].
/// Exact. x = NaN takes values[0].
/// @param name        begins the names of the nodes
/// @param x           float32
/// @param thresholds  ascending
/// @param values      one more than thresholds
ValueId add_step_function(Graph& graph, const std::string& name, ValueId x,
                          std::span<const float> thresholds, std::span<const float> values);

/// Adds nodes that compute the same levels as an Encode of x.
ValueId add_encode(Graph& graph, const std::string& name, const Encode& op, ValueId x);

/// Whether add_fake_quantize() can be used: scales do not share factors within a row.
bool has_fake_quantize_nodes(const FakeQuantize& op);

/// Adds nodes that compute the same as a FakeQuantize of x, whose scales may differ by a rounding
/// of float32. @pre has_fake_quantize_nodes(op)
ValueId add_fake_quantize(Graph& graph, const std::string& name, const FakeQuantize& op, ValueId x);

}  // namespace halftone::ir
