// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Moves additions to and scalings of a layer's outputs into its bias and weights.
///
///     x  [w]  [b]                      x  [s w]  [s b + t]
///      \  |  /                          \   |   /
///    FullyConnected  [s]                FullyConnected
///              \    /            ->
///               Mul  [t]
///                 \  /
///                  Add
///
/// The layer may also be a Conv or ConvTranspose. s and t are constants that broadcast along the
/// outputs: operands of Add, Sub (in either order), Mul, or Div by a constant. A BatchNormalization
/// behind a layer has this form. An activation of the Add or Mul moves to the layer. Unchanged:
/// layers with another reader, scales of weights that are shared or not dense float32, and scales
/// that would make a weight infinite.
/// @return whether the graph changed
bool fuse_bias(ir::Graph& graph);

}  // namespace halftone::passes
