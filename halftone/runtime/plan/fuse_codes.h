// SPDX-License-Identifier: Apache-2.0
// Finds nodes whose kernel includes conversions to or from codes, so that sums and floats between
// them stay in a near cache.
#pragma once

#include <set>
#include <span>
#include <vector>

#include "halftone/runtime/implementation.h"
#include "halftone/runtime/plan/plan.h"
#include "halftone/runtime/value.h"

namespace halftone::runtime {

/// A node with conversions around it, computed in one step.
struct CodeFusion {
  ir::NodeId node{};
  FusedCodes codes;
  std::vector<ir::ValueId> inputs;  ///< of the step
  ir::ValueId output{};
};

struct CodeFusions {
  std::vector<CodeFusion> fusions;
  std::set<ir::NodeId> absorbed;  ///< conversions without a step of their own
};

/// A layer of integers with the Requantize that alone reads its sums, and a sum, difference or
/// product of float32 between conversions from and to codes of one type:
///
///     q_a          q_b                q      [w]
///      |            |                  \     /
///     Dequantize  Dequantize            layer
///           \     /                       |
///          Add (Relu)                  Requantize
///              |                          |
///           Quantize                      p
/// @param layouts  of codes, by value
CodeFusions find_code_fusions(const ir::Graph& graph, const PlanOptions& options,
                              std::span<const CodeLayout> layouts);

}  // namespace halftone::runtime
