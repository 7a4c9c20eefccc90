// SPDX-License-Identifier: Apache-2.0
// The work of a training step: forward, backward, update.
#pragma once

#include "halftone/accel/workload.h"

namespace halftone::accel {

struct TrainingSettings {
  Number gradients{32, true};        ///< with respect to activations and weights
  std::size_t optimizer_states = 2;  ///< numbers kept for each weight: 2 for Adam, 1 for momentum
  int master_bits = 32;              ///< of the weights that are updated, and of the states
};

/// Adds the way back and the update to a workload.
///
///     forward    y = x w, with x kept for the way back
///     backward   dx = dy w^T, dw = x^T dy; of products of two activations both factors alike
///                dx only where x depends on weights: of the network's own inputs nobody needs it
///     elements   as many operations as forward, on dy and what was kept
///     update     12 operations a weight; reads gradient, weight and states, writes the last two
///
/// Source: Rajbhandari et al., ZeRO (arXiv:1910.02054), section 3.1, for what is kept.
Workload with_training(const Workload& forward, const TrainingSettings& settings = {});

}  // namespace halftone::accel
