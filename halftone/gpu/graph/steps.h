// SPDX-License-Identifier: Apache-2.0
// Which nodes of a graph share a launch. Private to this folder.
#pragma once

#include <cstddef>
#include <optional>
#include <variant>
#include <vector>

#include "halftone/gpu/rows.h"
#include "halftone/ir/graph.h"

namespace halftone::gpu {

/// What is done to the numbers of a product or norm before they are stored.
struct TailNode {
  Operation op = Operation::kAdd;
  ir::ValueId operand = ir::kAbsent;  ///< absent: only f
  Function f = Function::kNone;
};

/// One node.
struct PlainStep {};
/// A Normalize or a FullyConnected with groups, and what follows it.
struct RowsStep {
  std::vector<TailNode> tails;
};
/// FullyConnected nodes with the same input, whose outputs lie side by side.
struct JoinedStep {};
/// f(gate) * up, which are rows of two matrices, or of one.
struct GatedStep {
  std::vector<ir::NodeId> products;  ///< of the gate and up; or of both
  std::size_t outputs = 0;
  std::size_t up_row = 0;  ///< of one matrix
  Function f = Function::kNone;
};
/// Where rows of queries, keys or values come from.
struct HeadSource {
  ir::ValueId base = ir::kAbsent;
  std::size_t begin = 0;  ///< column
  ir::ValueId gain = ir::kAbsent;
  float epsilon = 0;
  std::optional<ir::NodeId> rotary{};
};
/// Norms, rotary positions and caches of an Attention.
struct HeadsStep {
  ir::NodeId attention{};
  HeadSource queries;
  HeadSource keys;
  HeadSource values;
};

struct LaunchStep {
  std::vector<ir::NodeId> nodes;
  ir::ValueId output = ir::kAbsent;  ///< of a RowsStep or GatedStep
  std::variant<PlainStep, RowsStep, JoinedStep, GatedStep, HeadsStep> what{};
};

/// The steps of a graph in the order in which they run. Each node but Reshapes is in one of them.
std::vector<LaunchStep> steps_of(const ir::Graph& graph);

}  // namespace halftone::gpu
