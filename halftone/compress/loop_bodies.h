// SPDX-License-Identifier: Apache-2.0
// Layers in loops: each body is quantized as a network of its own, on what its iterations read.
#pragma once

#include <map>
#include <memory>

#include "halftone/compress/quantize.h"
#include "halftone/compress/recipe.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"

namespace halftone::compress {

/// The quantized bodies of the loops of a network.
struct LoopBodies {
  std::map<ir::NodeId, std::shared_ptr<const ir::Graph>> graphs;  ///< shared as in ir::Loop
  QuantizedGraph rows;  ///< of their layers, without a graph
};

/// Quantizes the bodies that have layers, as quantize() does a network. Its samples are the inputs
/// of iterations of the float network on the calibration data; of many iterations, a seeded subset.
/// @param graph  the float network, whose layers are exposed
/// @param data   of several sizes, those of the graph's extents count
/// @throws Error as quantize()
LoopBodies quantize_bodies(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
                           const QuantizeSettings& options);

}  // namespace halftone::compress
