// SPDX-License-Identifier: Apache-2.0
// Training that emulates formats of fewer bits than float32.
#pragma once

#include <cstdint>

#include "halftone/ir/graph.h"
#include "halftone/train/graph/torch_graph.h"
#include "halftone/train/student/number_format.h"

namespace halftone::train {

enum class Rounding : std::uint8_t { kNearest, kStochastic };

/// The formats of the factors in layers: weights w and activations x in the forward pass, gradients
/// g with respect to layer outputs in the backward pass. Sums, biases and parameters stay float32.
///
///     forward    y = round(w) round(x) + b
///     backward   dL/dx = round(w)' round(g),  dL/dw = round(g) round(x)',  dL/db = sum of round(g)
///
/// Weights and activations are rounded to nearest. Encoded values are not rounded.
/// Source: Micikevicius et al., Mixed Precision Training, ICLR 2018 (arXiv:1710.03740), section 3.1
/// for float32 master weights; Zhou et al., DoReFa-Net, 2016 (arXiv:1606.06160), for
/// stochastic rounding of gradients alone.
struct PrecisionOptions {
  NumberFormat weights;
  NumberFormat activations;
  NumberFormat gradients;
  Rounding gradient_rounding = Rounding::kStochastic;
};

/// Adds rounding to hooks of a TorchGraph. The factors of nodes that read weights are rounded after
/// `hooks` have replaced them. Gradients are rounded with respect to the outputs of these nodes,
/// which include a node's activation function; in a recurrent layer the outputs of all steps, not
/// the states between them. Constants are weights, other values activations; states are rounded if
/// `hooks` has `encode`.
/// @param graph  the TorchGraph's source(); must outlive forward()
/// @param seed   of stochastic rounding, which depends on it, the node and the index in the tensor
ForwardHooks with_precision(ForwardHooks hooks, const ir::Graph& graph,
                            const PrecisionOptions& options, std::uint64_t seed);

}  // namespace halftone::train
