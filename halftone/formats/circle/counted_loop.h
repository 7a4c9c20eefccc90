// SPDX-License-Identifier: Apache-2.0
// When a WHILE ends: the number of its iterations, where its condition compares a counter.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::formats::circle {

/// A conjunction of "a counter is below a limit" and of a flag; variables by their indices.
struct LoopEnd {
  std::vector<std::size_t> counters;  ///< variables that are 0 at first, then 1, 2, ...
  std::optional<std::int64_t> trips;  ///< the least constant limit
  std::optional<std::size_t> limit;   ///< a variable that no iteration changes
  std::optional<std::size_t> flag;    ///< a boolean
};

/// The subgraphs of a WHILE.
struct LoopParts {
  const ir::Graph& condition;
  const ir::Graph& iteration;
  std::vector<std::size_t> variables;  ///< of the inputs of both, in order
  std::vector<std::size_t> states;     ///< the variables that iterations change
  std::vector<bool> begins_at_zero;    ///< by variable
};

/// Nothing where the condition computes something else.
std::optional<LoopEnd> known_end(const LoopParts& parts);

}  // namespace halftone::formats::circle
