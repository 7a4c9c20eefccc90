// SPDX-License-Identifier: Apache-2.0
// Layers that get one choice together.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::compress {

/// Divides layers into units that share one choice: layers that read the same weights, as embedding
/// and head of a language model do, or the same input, whose codes they share.
/// @param layers  in order of execution
/// @return        indices of layers, ascending; units in the order of their first layers
std::vector<std::vector<std::size_t>> tied_layers(const ir::Graph& graph,
                                                  std::span<const ir::NodeId> layers);

}  // namespace halftone::compress
