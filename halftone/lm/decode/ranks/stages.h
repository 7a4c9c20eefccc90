// SPDX-License-Identifier: Apache-2.0
// A graph as stages: what a rank computes between two exchanges with the others.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "halftone/ir/graph.h"
#include "halftone/lm/decode/ranks/node_division.h"

namespace halftone::lm {

/// A value of a divided graph as ranks remember it between stages.
struct StoredValue {
  ir::ValueId value = ir::kAbsent;
  bool is_part = false;  ///< the part of this rank
  auto operator<=>(const StoredValue&) const = default;
};

struct StageOutput {
  StoredValue stored{};
  /// Whose parts of all ranks are put together; nothing: the output is what is stored.
  std::optional<Division> gathered{};
};

/// A graph whose inputs and outputs, without states, are stored values.
struct RankStage {
  ir::Graph graph;
  std::vector<StoredValue> inputs{};
  std::vector<StageOutput> outputs{};
};

/// Stages of a graph for one rank, in order. Exchanges are as few as its longest path needs.
/// @param rank  below options.ranks
/// @return      the last stage gives all outputs of the graph that are no states, or an earlier one
std::vector<RankStage> stages_of(const ir::Graph& graph, const DivideOptions& options,
                                 std::size_t rank);

/// The values that are put together behind each stage, without making graphs.
std::vector<std::vector<StageOutput>> exchanges_of(const ir::Graph& graph,
                                                   const DivideOptions& options);

}  // namespace halftone::lm
