// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "halftone/runtime/plan/plan.h"

namespace halftone::runtime {

/// A graph that is ready for the choice of kernels.
struct Prepared {
  ir::Graph graph;
  std::vector<CodeLayout> layouts;  ///< of codes, by value
};

/// Prepares a graph for planning: fixes all extents and removes unneeded and repeated computations.
///
///     x [N, 784] -> Encode -> dense1        x [32, 784] -> Encode -> dense1
///       \-> Encode (same basis) -> dense2                    \-----> dense2
///
///     dense1 (Tanh) -> Encode               dense1 -> Encode (of Tanh: other thresholds)
///
///     conv -> Add residual -> Encode        conv with a residual, whose output is codes
///
/// @throws Error kFormat or kShape as ir::verify(), or if the shapes do not fit the batch
Prepared prepare(ir::Graph graph, const PlanOptions& options);

}  // namespace halftone::runtime
