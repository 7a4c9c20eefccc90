// SPDX-License-Identifier: Apache-2.0
// Small networks whose operators are measured.
#pragma once

#include <vector>

#include "halftone/ir/graph.h"

namespace halftone::accel {

/// Two layers each, the second of which may get codes from the first: Conv, DepthwiseConv and
/// FullyConnected of the sizes that small and medium networks have.
std::vector<ir::Graph> sample_layers();
/// Layers with one row and weights of the given number of bytes in float32.
ir::Graph row_layer(double weight_bytes);
/// Other operators on float32, several sizes of each.
std::vector<ir::Graph> sample_operators();

}  // namespace halftone::accel
