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
/// @throws Error kFormat or kShape as ir::verify(), or if the shapes do not fit the batch
ir::Graph prepare(ir::Graph graph, std::size_t batch);

}  // namespace halftone::runtime
