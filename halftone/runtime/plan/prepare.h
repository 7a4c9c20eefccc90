// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::runtime {

/// The graph a plan is made of: extents known, nothing computed in vain or twice.
///
///     x [N, 784] -> Encode -> dense1        x [32, 784] -> Encode -> dense1
///       \-> Encode (same basis) -> dense2                    \-----> dense2
///
///     dense1 (Tanh) -> Encode               dense1 -> Encode (of Tanh: other thresholds)
///
///     conv -> Add residual -> Encode        conv with a residual, whose output is codes
///
/// @param int8_activations  as in PlanOptions
/// @throws Error kFormat or kShape as ir::verify(), or if the shapes do not fit the batch
ir::Graph prepare(ir::Graph graph, std::size_t batch, bool int8_activations = true);

}  // namespace halftone::runtime
