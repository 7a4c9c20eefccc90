// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "halftone/ir/graph.h"

namespace halftone::ir {

/// A readable dump of the graph: one line per input, constant and node, in order of execution.
///
///     input    pixels: float32[N, 784]
///     constant dense1.kernel: basis(2 bits, channel, offset)[700, 784], 145600 bytes
///     dense1: float32[N, 700] = FullyConnected(pixels, dense1.kernel, dense1.bias) activation=Tanh
///     output   probabilities
std::string to_text(const Graph& graph);

}  // namespace halftone::ir
