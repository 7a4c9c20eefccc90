// SPDX-License-Identifier: Apache-2.0
// Initial weights of an untrained network.
#pragma once

#include <cstdint>

#include "halftone/ir/graph.h"

namespace halftone::train {

/// Replaces the trainable_constants() of a graph by initial values. The rule depends on the first
/// node that reads the constant; n is the number of inputs per output, m of outputs per input:
///
///     weights before a ReLU or a similar activation   normal, variance 2 / n
///     other weights                                   normal, variance 2 / (n + m)
///     recurrent weights (H states), layer before them uniform within +-1 / sqrt(H)
///     tables of width w                               normal, variance 1 / w
///     scales after a Normalize                        1
///     biases, peepholes, shifts                       0; 1 for the forget gate of an LSTM
///
/// Each constant has its own random numbers, which depend only on the seed and its index.
/// Source: He et al., ICCV 2015 (arXiv:1502.01852), equation 10; Glorot, Bengio, AISTATS 2010,
/// equation 12; Jozefowicz et al., ICML 2015, for the forget gate.
/// @throws Error kUnsupported if weights are encoded: their initial values would have no levels
ir::Graph with_initial_values(ir::Graph graph, std::uint64_t seed);

}  // namespace halftone::train
