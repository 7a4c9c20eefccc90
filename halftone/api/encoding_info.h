// SPDX-License-Identifier: Apache-2.0
// What the codes of a value are, for reports.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "halftone/ir/graph.h"

namespace halftone {

/// Two ends of a range; equal where there is one value.
struct Ends {
  double low = 0;
  double high = 0;
};

/// How the numbers of a layer's weights or input are stored or rounded.
struct EncodingInfo {
  std::string
      system;  ///< "basis", "int", ...; of 8-bit integers of other programs "int8" or "uint8"
  int bits = 0;
  std::string granularity;     ///< which numbers share a scale: "tensor", "channel" or "group"
  std::size_t group_size = 0;  ///< numbers of a group; 0: there are none
  /// Scales that are stored; 0: they are computed at run time, or levels are learned.
  std::size_t num_scales = 0;
  std::optional<Ends> scale{};       ///< the least and the largest; nothing without stored scales
  std::optional<Ends> zero_point{};  ///< likewise, in codes: x = scale (q - zero_point)
  std::optional<Ends> range{};       ///< the lowest and the highest level; nothing: at run time
};

/// @return nothing for float32 and other plain numbers
std::optional<EncodingInfo> weight_encoding_info(const ir::Graph& graph, const ir::Node& layer);
/// Of a layer's input, or of the states that a recurrent layer multiplies.
std::optional<EncodingInfo> activation_encoding_info(const ir::Graph& graph, const ir::Node& layer);

}  // namespace halftone
