// SPDX-License-Identifier: Apache-2.0
// Networks whose layers of bits run on arrays: accuracy, and what the arrays cost.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halftone/accel/crossbar/device.h"
#include "halftone/compress/evaluate.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/types/hardware.hpp"

namespace halftone::crossbar {

using LayerUse = v0::CrossbarLayer;
using NetworkResult = v0::CrossbarResult;

/// Why arrays do not compute a layer with weights; nothing if they do.
std::optional<std::string> why_digital(const ir::Graph& graph, const ir::Node& node);

/// The layers of a network with weights, in order of execution.
/// @throws Error as Mapping, with the layer
std::vector<LayerUse> layer_uses(const ir::Graph& graph, const CrossbarDevice& device);

/// @param network  for the message
/// @throws Error kUnsupported "NETWORK: no layer can be mapped ..." if all layers are digital
void check_any_mapped(const std::vector<LayerUse>& layers, const std::string& network);

/// The network whose layers compute bits wherever their codes and extents allow it; the others,
/// and convolutions of single channels, keep their arithmetic. It is what the arrays compute if
/// they are ideal.
ir::Graph with_bits(ir::Graph graph);

struct NetworkOptions {
  std::size_t num_seeds = 1;  ///< programmed devices: seed, seed + 1, ...; 1 if nothing is random
  std::uint64_t seed = 0;
  compress::EvaluateSettings evaluate{};
};

/// Runs a network over a data set with its layers of bits on arrays, once per seed, and beside it
/// the digital network, with_bits().
/// @throws Error kUsage if there are no seeds; kUnsupported "network: no layer can be mapped ...";
///         as CrossbarDevice::check(), layer_kernel() and compress::evaluate()
NetworkResult evaluate(const ir::Graph& graph, const data::Dataset& data,
                       const CrossbarDevice& device, const NetworkOptions& options = {});

}  // namespace halftone::crossbar
