// SPDX-License-Identifier: Apache-2.0
// What the layers of a quantized network read on data, and how far their outputs are from those of
// a float network.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "halftone/base/progress.h"
#include "halftone/compress/feed.h"
#include "halftone/compress/fit/histogram.h"
#include "halftone/compress/graft.h"
#include "halftone/data/dataset.h"
#include "halftone/ir/graph.h"
#include "halftone/numerics/distortion.h"
#include "halftone/spmd/devices.hpp"

namespace halftone::compress {

struct LayerErrorOptions {
  ProgressSink progress{};  ///< may be empty
  spmd::Devices devices{};  ///< as in runtime::StreamOptions
  /// Memory for layer outputs per device; a run has at least one sample. The order of sums depends
  /// on it.
  std::uint64_t run_bytes = std::uint64_t{64} << 20;
  Resize resize{};  ///< as of Calibration
};

/// Signal to quantization noise ratios of a layer's output, in decibels: 10 log10(sum y^2 / sum (y
/// - z)^2) over data, where y is the output in the reference; +infinity without noise. The rounding
/// of a layer's input, to codes or 8-bit integers, belongs to the layer.
struct LayerError {
  double sqnr_db = 0;        ///< z is the output in the quantized network
  double sqnr_alone_db = 0;  ///< z is what the quantized layer gives on the reference's input
};

/// Runs two networks and every quantized layer alone on the same samples. Layers compute in float32
/// in a fixed order, so the result has the same bits on every processor, for any number of threads
/// and devices.
/// @param pairs  as of paired_layers()
/// @return       one for each pair
/// @throws Error kShape if the networks differ in their inputs but for the batch, a pair differs in
///         its output, or the data does not fit; kFormat if an output is NaN or infinite
std::vector<LayerError> layer_errors(const ir::Graph& reference, const ir::Graph& quantized,
                                     std::span<const LayerPair> pairs, const data::Dataset& data,
                                     const LayerErrorOptions& options = {});

/// The same without decibels, of the layers alone, in one run over the data.
std::vector<numerics::Distortion> distortions_alone(const ir::Graph& reference,
                                                    const ir::Graph& quantized,
                                                    std::span<const LayerPair> pairs,
                                                    const data::Dataset& data,
                                                    const LayerErrorOptions& options = {});
/// The same of the layers in the quantized network.
std::vector<numerics::Distortion> distortions_in_order(const ir::Graph& reference,
                                                       const ir::Graph& quantized,
                                                       std::span<const LayerPair> pairs,
                                                       const data::Dataset& data,
                                                       const LayerErrorOptions& options = {});

/// The float32 value that a layer reads: before its codes or its rounding, where that is in the
/// graph.
/// @return nothing if this is a constant or of another type, such as the indices of a lookup
std::optional<ir::ValueId> layer_input(const ir::Graph& graph, const ir::Node& layer);

/// Counts of the elements of some float32 values over data.
/// @return       one for each value
/// @throws Error kShape if the data does not fit; kFormat if an element is NaN or infinite
std::vector<Histogram> value_histograms(const ir::Graph& graph, std::span<const ir::ValueId> values,
                                        const data::Dataset& data,
                                        const LayerErrorOptions& options = {});

}  // namespace halftone::compress
