// SPDX-License-Identifier: Apache-2.0
// Quantizes a float network: the entry point of this module.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/compress/feed.h"
#include "halftone/compress/layer_report.h"
#include "halftone/compress/recipe.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/spmd/devices.hpp"
#include "halftone/types/quantize.hpp"

namespace halftone::compress {

struct QuantizeSettings {
  std::uint64_t seed = 0;   ///< of the choice of activations kept for fitting
  ProgressSink progress;    ///< may be empty
  spmd::Devices devices{};  ///< where calibration runs, as in runtime::StreamOptions
  /// Memory for values of the calibration data, as in Calibration. The result does not depend on
  /// it.
  std::optional<std::uint64_t> memory_bytes{};
  Resize resize{};  ///< gives graphs the extents of samples; empty: they have one size
};

using v0::SkippedBlock;

struct QuantizedGraph {
  ir::Graph graph;
  std::vector<LayerReport> layers;  ///< every linear layer, in order of execution
  std::vector<SkippedBlock> skipped_blocks{};
  std::size_t equalized_pairs = 0;       ///< consecutive layers that FitOptions::equalize changed
  std::vector<std::string> warnings{};   ///< a line each, such as screened() finds
  std::uint64_t input_weight_bytes = 0;  ///< constant_bytes() of the network before
};

/// Adds the rows of a part of a network: layers, blocks, pairs and warnings.
void add_rows(QuantizedGraph& to, const QuantizedGraph& part);

/// Quantizes the linear layers and embeddings of a network by a recipe, with unlabelled calibration
/// data. If the recipe encodes a product with a constant that is not yet a layer, the product
/// becomes one (passes::expose_layers). If the recipe says so, consecutive layers are equalized
/// (equalize_layers()); reports then compare with the equalized network, which computes the same
/// function.
///
/// Walks the graph in order of execution and builds a quantized counterpart of every float value.
/// The activation basis of a layer is fitted on pairs (value in the quantized network, value in the
/// float network). Its weights are fitted by fit_to_statistics() on the encoded counterpart inputs
/// and the float inputs over the calibration set; see Schedule for the other order. Layers that
/// share an input share its basis. At the end the arithmetic of every layer with codes is fixed:
/// that of the recipe, or what the rule says (ir::arithmetic_by_rule()). Memory: one batch per
/// thread and the second moments of one layer. The result depends only on graph, data, recipe and
/// seed, not on the number of threads or devices, and is the same on all ranks. Samples that would
/// decide the fit alone are left out (screened()). Samples may have several sizes, with a `resize`
/// for their graphs; blocks are then refined on those that have the extents of the graph. Layers in
/// loops are quantized before, see quantize_bodies(); their reports come last. Where extents depend
/// on data, each stage is quantized as a network of its own: quantize_stages().
/// @param graph  simplified (passes::simplify), so that layers contain batch norm and biases
/// @throws Error kUnsupported if there is no layer to quantize, or if all sampled values of a layer
///         input to be encoded are equal, as for a dead layer or blank data;
///         kUsage from the recipe; kFormat if weights or activations are not finite; kShape if the
///         data does not fit
QuantizedGraph quantize(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
                        const QuantizeSettings& options = {});

}  // namespace halftone::compress
