// SPDX-License-Identifier: Apache-2.0
// Size and error of a quantized layer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "halftone/ir/graph.h"
#include "halftone/numerics/scale_rule.h"

namespace halftone::compress {

/// Result of quantizing one layer.
struct LayerReport {
  std::string name;
  std::string_view op;
  int weight_bits = 32;
  int activation_bits = 32;  ///< always 32 for a table, whose input is indices
  /// The lowest and the highest level of its input or states, if their scale is stored.
  std::optional<numerics::ValueRange> activation_range{};
  std::size_t float_bytes = 0;  ///< of the float weights
  std::size_t encoded_bytes =
      0;                      ///< of codes and bases, or of the float weights if they stay float
  double weight_sqnr_db = 0;  ///< of the weights; +infinity if they stay float
  /// Of the layer's output, on the calibration data, in the quantized network; with
  /// Schedule::kIndependent if the layer is the only quantized one.
  double sqnr_db = 0;
};

/// The report of a layer and its quantized twin, which may be the layer itself. Leaves `sqnr_db`
/// unset, which needs data.
/// @param reference  the graph of `layer`
/// @param quantized  the graph of `twin`, which may be the same
/// @pre the weights are constants
LayerReport report_layer(const ir::Graph& reference, ir::NodeId layer, const ir::Graph& quantized,
                         ir::NodeId twin);

/// Bytes of the constants that the nodes of a network read, each counted once. What a file has
/// beside them is structure, names and notes.
std::uint64_t constant_bytes(const ir::Graph& graph);

}  // namespace halftone::compress
