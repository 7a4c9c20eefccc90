// SPDX-License-Identifier: Apache-2.0
// Training that emulates formats of fewer bits than float32.
#pragma once

#include <cstdint>

#include "halftone/ir/graph.h"
#include "halftone/train/graph/torch_graph.h"
#include "halftone/train/options/student_options.h"

namespace halftone::train {

/// Adds rounding to hooks of a TorchGraph. The factors of nodes that read weights are rounded after
/// `hooks` have replaced them. Gradients are rounded with respect to the outputs of these nodes,
/// which include a node's activation function; in a recurrent layer the outputs of all steps, not
/// the states between them. Constants are weights, other values activations; states are rounded if
/// `hooks` has `encode`.
/// @param graph  the TorchGraph's source(); must outlive forward()
/// @param seed   of stochastic rounding, which depends on it, the node and the index in the tensor
ForwardHooks with_precision(ForwardHooks hooks, const ir::Graph& graph,
                            const PrecisionOptions& options, std::uint64_t seed);

}  // namespace halftone::train
