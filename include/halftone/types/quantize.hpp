// SPDX-License-Identifier: Apache-2.0
// What became of the layers of a network.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "halftone/export.hpp"

namespace halftone {
HALFTONE_VERSIONED namespace v0 {
  /// The lowest and the highest of the levels of a tensor.
  struct LevelRange {
    float low = 0;
    float high = 0;
  };

  /// What became of a layer.
  struct LayerReport {
    std::string name;
    std::string op;
    double weight_bits = 32;        ///< 3.5: a code of 7 bits for two weights
    int activation_bits = 32;       ///< of its input; 32 for a table, whose input is indices
    std::size_t float_bytes = 0;    ///< of the float weights
    std::size_t encoded_bytes = 0;  ///< of codes and bases, or of float weights that stay
    double weight_sqnr_db = 0;      ///< of the weights; infinite if they stay float
    double sqnr_db = 0;             ///< of the layer's output on the samples, in the new network
    /// Levels of its input or its states, if their scale is stored.
    std::optional<LevelRange> activation_range{};
  };

  /// A block that was not reconstructed and keeps its fit.
  struct SkippedBlock {
    std::string block;   ///< the name of its last layer
    std::string reason;  ///< such as an operator without a gradient
  };

}  // namespace v0
}  // namespace halftone
