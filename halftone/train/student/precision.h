// SPDX-License-Identifier: Apache-2.0
// Training as if numbers were held in formats of fewer bits than float32.
#pragma once

#include <cstdint>

#include "halftone/ir/graph.h"
#include "halftone/train/graph/torch_graph.h"
#include "halftone/train/student/number_format.h"

namespace halftone::train {

enum class Rounding : std::uint8_t { kNearest, kStochastic };

/// The formats of what layers multiply: forward weights w and activations x, backward the gradients
/// g by their outputs. Sums, biases and parameters stay float32.
///
///     forward    y = round(w) round(x) + b
///     backward   dL/dx = round(w)' round(g),  dL/dw = round(g) round(x)',  dL/db = sum of round(g)
///
/// Weights and activations are rounded to nearest. What is codes of a basis stays what it is.
/// Source: Micikevicius et al., Mixed Precision Training, ICLR 2018 (arXiv:1710.03740), section 3.1
/// for float32 master weights; Zhou et al., DoReFa-Net, 2016 (arXiv:1606.06160), for
/// stochastic rounding of gradients alone.
struct PrecisionOptions {
  NumberFormat weights;
  NumberFormat activations;
  NumberFormat gradients;
  Rounding gradient_rounding = Rounding::kStochastic;
};

/// Hooks that round what nodes of TorchGraph multiply with weights, after what other hooks do to
/// it, and the gradients by their outputs (behind activation functions that are part of a node; of
/// a recurrent layer by the outputs of all steps, not by the states between them). Constants are
/// weights, other numbers activations; states are rounded where `hooks` encode.
/// @param graph  the graph's source(); has to outlive forward()
/// @param seed   of stochastic rounding, which depends on it, the node and the place in the tensor
ForwardHooks with_precision(ForwardHooks hooks, const ir::Graph& graph,
                            const PrecisionOptions& options, std::uint64_t seed);

}  // namespace halftone::train
