// SPDX-License-Identifier: Apache-2.0
// Chooses the implementation of a node. Plans, code layouts and fusion all use this choice.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "halftone/runtime/implementation.h"
#include "halftone/runtime/plan/plan.h"

namespace halftone::runtime {

/// The information for the implementations of a node.
/// @param layouts  of codes, by value
NodeContext context_of(const ir::Graph& graph, const ir::Node& node, const PlanOptions& options,
                       std::span<const CodeLayout> layouts);

struct Choice {
  const Implementation* implementation = nullptr;  ///< null: none accepts the node
  Verdict verdict;                                 ///< of the implementation
  std::vector<Refusal> refused;                    ///< candidates that were not chosen, and why

  /// Why the implementation was chosen, with its estimated time if that is known.
  [[nodiscard]] std::string reason() const;
};

/// Chooses the first implementation that computes the arithmetic of the node, accepts it and
/// supports the layouts of its codes. Apart from layouts, this depends on the network and the
/// options alone.
Choice choose(const NodeContext& context);

/// The layout in which a node reads the codes of its first input if it may choose.
CodeLayout preferred_layout(const NodeContext& context);

}  // namespace halftone::runtime
