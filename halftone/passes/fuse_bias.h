// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Moves what adds to or scales the outputs of a layer into its bias and weights.
///
///     x  [w]  [b]                      x  [s w]  [s b + t]
///      \  |  /                          \   |   /
///    FullyConnected  [s]                FullyConnected
///              \    /            ->
///               Mul  [t]
///                 \  /
///                  Add
///
/// The layer may as well be a Conv or ConvTranspose. s and t are constants that broadcast along the
/// outputs: Add, Sub (either way round), Mul, Div
/// by a constant; this is what a BatchNormalization behind a layer comes to. An activation of the
/// Add or Mul goes to the layer. Left alone: a layer that is read elsewhere, scales of weights that
/// are shared or not dense float32, and scales that would make a weight infinite.
/// @return whether the graph changed
bool fuse_bias(ir::Graph& graph);

}  // namespace halftone::passes
