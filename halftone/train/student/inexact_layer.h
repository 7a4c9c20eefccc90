// SPDX-License-Identifier: Apache-2.0
// A layer on hardware that represents its weights inexactly.
#pragma once

#include <ATen/core/Tensor.h>

#include "halftone/ir/graph.h"

namespace halftone::train {

/// What replaces the weights of a layer, and what is added to its products, see WeightHardware.
struct InexactLayer {
  at::Tensor weights;     ///< seen, in the shape of the weights
  at::Tensor correction;  ///< (w - seen) l, for one sample; of a convolution at every position
};

/// @param node    a FullyConnected or Conv
/// @param exact   w; no gradient
/// @param seen    of the same shape
/// @param lowest  l
InexactLayer inexact_layer(const ir::Graph& graph, const ir::Node& node, const at::Tensor& exact,
                           const at::Tensor& seen, float lowest);

}  // namespace halftone::train
