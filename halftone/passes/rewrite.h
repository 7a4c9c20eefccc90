// SPDX-License-Identifier: Apache-2.0
// Shared helpers of the passes.
//
// Names: a value keeps its name as long as it is computed, so that the layers of a rewritten graph
// can be compared with those of the original by name. Graph outputs always keep their names. A
// fused node has the name of its first part.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// The operator that computes a value if it is an Op; otherwise null. Valid until the graph
/// changes.
template <typename Op>
const Op* computed_by(const ir::Graph& graph, ir::ValueId id) {
  if (id == ir::kAbsent) return nullptr;
  const auto producer = graph.producer(id);
  return producer ? std::get_if<Op>(&graph.node(*producer).op) : nullptr;
}

/// The node that reads a value, if it is the only reader and the value is not a graph output. It
/// may read the value several times.
std::optional<ir::NodeId> only_reader(const ir::Graph& graph, ir::ValueId id);

/// The tensor of a dense constant, of any type or of float32; null for any other value.
const ir::Tensor* dense_constant(const ir::Graph& graph, ir::ValueId id);
const ir::Tensor* float_constant(const ir::Graph& graph, ir::ValueId id);

/// Whether a node turns stored elements into float32: a DequantizeLinear, or a Cast of floats of 16
/// bits.
bool widens_storage(const ir::Graph& graph, const ir::Node& node);

/// Whether a value is stored in the file: a constant, or one that widens_storage() turns into
/// float32.
bool is_stored(const ir::Graph& graph, ir::ValueId id);

/// Makes every reader of `from` read `to`, which holds the same values, and removes the node that
/// computed `from`. If `from` is a graph output, `to` takes its name.
/// @return false, with the graph unchanged, if `to` is itself an input or output of the graph
bool replace_value(ir::Graph& graph, ir::ValueId from, ir::ValueId to);

/// The name of a constant that replaces another: the same name if it had only one reader.
std::string replacement_name(const ir::Graph& graph, ir::ValueId constant);

/// A constant with the elements of a dense constant, transposed.
ir::ValueId transpose_constant(ir::Graph& graph, ir::ValueId constant,
                               const std::vector<std::size_t>& permutation);

bool is_identity(const std::vector<std::size_t>& permutation);

}  // namespace halftone::passes
