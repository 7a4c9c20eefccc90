// SPDX-License-Identifier: Apache-2.0
// What quantizing made of a layer, in numbers.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "halftone/ir/graph.h"

namespace halftone::compress {

/// What became of one layer.
struct LayerReport {
  std::string name;
  std::string_view op;
  int weight_bits = 32;
  int activation_bits = 32;       ///< of a table, whose input is indices: always 32
  std::size_t float_bytes = 0;    ///< of the float weights
  std::size_t encoded_bytes = 0;  ///< of codes and bases, or of the float weights if they stay
  double weight_sqnr_db = 0;      ///< of the weights; +infinity if they stay
  double sqnr_db = 0;  ///< of the layer's output, on the calibration data, in the quantized network
};

/// The report of a layer and its quantized twin, which may be the layer itself; without `sqnr_db`,
/// which only data can tell. @pre the weights are constants
LayerReport report_layer(const ir::Graph& graph, ir::NodeId layer, ir::NodeId twin);

}  // namespace halftone::compress
