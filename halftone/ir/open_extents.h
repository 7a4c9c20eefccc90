// SPDX-License-Identifier: Apache-2.0
// Graphs whose inputs leave extents open, and numbers for these.
#pragma once

#include <optional>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "halftone/ir/extent.h"
#include "halftone/ir/graph.h"

namespace halftone::ir {

/// Names of the open extents of the inputs of a graph, except the batch, in order. Those that the
/// network computes are not among them.
std::vector<std::string> open_extents(const Graph& graph);

/// What to do about the open extents of a graph: "input 'x' [N, 3, H, W]: expected numbers for H
/// and W: give them (--shape x=N,3,H,W with numbers for H and W)".
/// @pre the graph has open extents
std::string how_to_give_extents(const Graph& graph);

/// The numbers of open extents that shapes of inputs show.
/// @param inputs  of the graph
/// @param found   a shape for each input; nullopt: unknown
/// @throws Error kShape if two inputs show different numbers for one extent
Sizes sizes_of(const Graph& graph, std::span<const ValueId> inputs,
               std::span<const std::optional<Shape>> found);

/// Adds the symbols in the type of a node's output and in its attributes, also inside the body of a
/// loop; kBatchSymbol for the batch.
void add_symbols(const Graph& graph, const Node& node, std::set<std::string>& names);
void add_symbols(const Shape& shape, std::set<std::string>& names);

/// The window of a layer or a pool, whose padding may follow an open extent; null for other
/// operators.
Window* window_of(Operator& op);

/// An operator with numbers in its attributes, where symbols have some.
/// @param x  its first input, with numbers
/// @throws Error as dim_of()
Operator with_sizes(Operator op, const Shape& x, const Sizes& sizes);

/// Replaces extents by numbers, in types and attributes: all open ones, and computed ones that have
/// a number, which are defined no longer. The batch may stay open. Ids stay.
/// @throws Error kUsage as how_to_give_extents() if one has no number; kShape if the numbers do not
///         fit the network
void fill_in_extents(Graph& graph, const Sizes& sizes);

}  // namespace halftone::ir
