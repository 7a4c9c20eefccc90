// SPDX-License-Identifier: Apache-2.0
// The implementation that computes a node: the one decision that plans, code layouts and fusion
// use.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "halftone/runtime/implementation.h"
#include "halftone/runtime/plan/plan.h"

namespace halftone::runtime {

/// What the implementations of a node may look at.
/// @param layouts  of codes, by value
NodeContext context_of(const ir::Graph& graph, const ir::Node& node, const PlanOptions& options,
                       std::span<const CodeLayout> layouts);

struct Choice {
  const Implementation* implementation = nullptr;  ///< null: none accepts the node
  Verdict verdict;                                 ///< of the implementation
  std::vector<Refusal> refused;                    ///< who else was asked, and why they did not

  /// Why the implementation was chosen, with its cost if it has one.
  [[nodiscard]] std::string reason() const;
};

/// Of the implementations up to the first that accepts without a cost, the cheapest that reads and
/// writes codes as they lie.
Choice choose(const NodeContext& context);

}  // namespace halftone::runtime
