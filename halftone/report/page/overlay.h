// SPDX-License-Identifier: Apache-2.0
// Values of layers in the format that Google's Model Explorer colours a graph with.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace halftone::report::page {

/// A measure of layers.
struct Overlay {
  std::string name;                                    ///< "SQNR in dB": what Model Explorer shows
  std::vector<std::pair<std::string, double>> values;  ///< name of a node, and its value
  /// Of ratios such as an SQNR, which have no sum: the gradient marks low values, else high ones.
  bool high_is_good = false;
};

/// The JSON text of an overlay: `name`, `results` with the value of each node, and a `gradient` of
/// colours. Model Explorer takes one measure per file and any number of files; keys are ids of
/// nodes (ONNX: names of nodes) or names of output tensors (TFLite). Values that are not finite are
/// omitted. Of equal names, the first counts.
/// Source: ai-edge-model-explorer 0.1.34, GraphNodeData.
std::string node_data(const Overlay& overlay);

}  // namespace halftone::report::page
