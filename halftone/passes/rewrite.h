// SPDX-License-Identifier: Apache-2.0
// The words passes are written in.
//
// Names: a value keeps its name as long as its numbers exist, so that the layers of a rewritten
// graph can be compared with those of the original by name; outputs of the graph always keep
// theirs. A fused node has the name of the first of its parts.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// The operator that computes a value, if it is an Op; else null. Valid until the graph changes.
template <typename Op>
const Op* computed_by(const ir::Graph& graph, ir::ValueId id) {
  if (id == ir::kAbsent) return nullptr;
  const auto producer = graph.producer(id);
  return producer ? std::get_if<Op>(&graph.node(*producer).op) : nullptr;
}

/// The node that reads a value if no other does and the value is no output of the graph. It may
/// read the value several times.
std::optional<ir::NodeId> only_reader(const ir::Graph& graph, ir::ValueId id);

/// The numbers of a dense constant, of any type or of float32; null if the value is none.
const ir::Tensor* dense_constant(const ir::Graph& graph, ir::ValueId id);
const ir::Tensor* float_constant(const ir::Graph& graph, ir::ValueId id);

/// Whether a value comes with the file: a constant, or dequantized from one.
bool is_stored(const ir::Graph& graph, ir::ValueId id);

/// Makes every reader of `from` read `to`, which holds the same numbers, and removes the node that
/// computed `from`. If `from` is an output of the graph, `to` takes its name.
/// @return false, with nothing changed, if `to` cannot: it is an input or an output itself
bool replace_value(ir::Graph& graph, ir::ValueId from, ir::ValueId to);

/// The name for a constant that replaces another: the same if only one reader had it.
std::string replacement_name(const ir::Graph& graph, ir::ValueId constant);

/// A constant with the numbers of a dense constant, transposed.
ir::ValueId transpose_constant(ir::Graph& graph, ir::ValueId constant,
                               const std::vector<std::size_t>& permutation);

bool is_identity(const std::vector<std::size_t>& permutation);

}  // namespace halftone::passes
