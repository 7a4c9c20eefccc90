// SPDX-License-Identifier: Apache-2.0
// The main job: a float network in, a network of few bits out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/compress/layer_report.h"
#include "halftone/compress/recipe.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/spmd/devices.h"

namespace halftone::compress {

struct QuantizeOptions {
  std::uint64_t seed = 0;   ///< of the choice which activations are kept for fitting
  ProgressSink progress;    ///< may be empty
  spmd::Devices devices{};  ///< where calibration runs, as in runtime::StreamOptions
  /// Memory for values of the calibration data, as in Calibration. The result does not depend on
  /// it.
  std::optional<std::uint64_t> memory_bytes{};
};

/// A block that reconstruction left as it was fitted.
struct SkippedBlock {
  std::string block;   ///< the name of its last layer
  std::string reason;  ///< why, such as an operator without a gradient
};

struct QuantizeResult {
  ir::Graph graph;
  std::vector<LayerReport> layers;  ///< every linear layer, in order of execution
  std::vector<SkippedBlock> skipped_blocks{};
};

/// Quantizes the linear layers and embeddings of a network by a recipe, with unlabelled calibration
/// data. Products with constants that are no layers yet become some (passes::expose_layers) where
/// the recipe wants them encoded.
///
/// Walks the graph in order of execution and builds, beside every float value, its twin in the
/// quantized network. A layer's activation basis is fitted on pairs (value in the quantized
/// network, value in the float network), its weights by fit_weights() on what its encoded twin
/// inputs and float inputs are over the calibration set; see Schedule for the other order. Layers
/// that share an input share its basis. Memory: one batch per thread and the second moments of one
/// layer. The result depends on graph, data, recipe and seed alone, not on the number
/// of threads or devices, and is the same on all ranks.
/// @param graph  simplified (passes::simplify); batch norm and biases are in the layers then
/// @throws Error kUnsupported if there is no layer to quantize, or what a layer's input to be
///         encoded is sampled at is one number everywhere, as of a dead layer or of blank data;
///         kUsage from the recipe; kFormat if weights or activations are not finite; kShape if the
///         data does not fit
QuantizeResult quantize(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
                        const QuantizeOptions& options = {});

}  // namespace halftone::compress
