// SPDX-License-Identifier: Apache-2.0
// What a network that has learned nothing starts from.
#pragma once

#include <cstdint>

#include "halftone/ir/graph.h"

namespace halftone::train {

/// The graph with fresh numbers as its trainable_constants(), by the node that reads them first,
/// with n the inputs of an output and m the outputs of an input:
///
///     weights before a ReLU or what is much like one  normal, variance 2 / n
///     other weights                                   normal, variance 2 / (n + m)
///     of a layer of H states and before it            uniform within +-1 / sqrt(H)
///     tables of width w                               normal, variance 1 / w
///     scales behind a Normalize                       1
///     biases, peepholes, shifts                       0; of an LSTM's forget gate 1
///
/// Every constant has random numbers of its own: they depend on the seed and its place alone.
/// Source: He et al., ICCV 2015 (arXiv:1502.01852), equation 10; Glorot, Bengio, AISTATS 2010,
/// equation 12; Jozefowicz et al., ICML 2015, for the forget gate.
/// @throws Error kUnsupported if weights are in few bits: they would have no levels to start from
ir::Graph with_initial_values(ir::Graph graph, std::uint64_t seed);

}  // namespace halftone::train
