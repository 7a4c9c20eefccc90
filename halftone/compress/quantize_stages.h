// SPDX-License-Identifier: Apache-2.0
// Layers behind extents that depend on data.
#pragma once

#include <string>
#include <vector>

#include "halftone/compress/quantize.h"
#include "halftone/ir/stages.h"

namespace halftone::compress {

/// Quantizes the stages of a network, each as quantize() does a network, on what the float stages
/// before hand it (stage_networks()), and makes one network of them. A stage that no sample reaches
/// stays float32, which a line says. Reports of layers are in the order of stages, and compare with
/// the float stage on the same inputs.
/// @throws Error as quantize() and stage_networks(); kUnsupported if no sample reaches a layer
QuantizedGraph quantize_stages(const ir::Graph& graph, const data::Dataset& data,
                               const Recipe& recipe, const QuantizeSettings& options);

/// "2 layers behind node 'all' (NonZero) stay float32, since REASON: 'a', 'b'"; nothing without
/// layers.
/// @param stage  a later one
std::vector<std::string> float_layers(const ir::FittedStage& stage, const std::string& reason);

}  // namespace halftone::compress
