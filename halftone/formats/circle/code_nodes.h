// SPDX-License-Identifier: Apache-2.0
// Operators of codes. A graph has conversions around a node that computes with 8-bit codes; a
// TFLite file has one operator, whose tensors have scales.
//
//     q   [w]  [b]
//     |    |    |
//    Dequantize each           q [w] [b]
//      \   |   /       ->       \ | /
//        Conv                   Conv
//          |                      |
//      Quantize                   p
//          |
//          p
#pragma once

#include <set>

#include "halftone/ir/graph.h"

namespace halftone::formats::circle {

struct CodeNodes {
  std::set<ir::NodeId> computing;    ///< written with codes
  std::set<ir::NodeId> conversions;  ///< the conversions that only they need
};

/// The nodes with conversions around them, if they end with TensorFlow Lite's rounding.
CodeNodes find_code_nodes(const ir::Graph& graph);

/// The codes that a value is dequantized from; kAbsent for any other value.
ir::ValueId codes_behind(const ir::Graph& graph, ir::ValueId value);

}  // namespace halftone::formats::circle
