// SPDX-License-Identifier: Apache-2.0
// A layer with weights and bias on oneDNN, whichever primitive multiplies.
#pragma once

#include <memory>
#include <optional>

#include "halftone/runtime/implementation.h"
#include "halftone/runtime/onednn/primitive.h"

namespace halftone::runtime {

/// What a primitive is made of before its layouts are known.
struct FloatLayerDescs {
  dnnl::memory::desc x;
  dnnl::memory::desc y;
  dnnl::memory::desc weights;  ///< as the graph holds them
  dnnl::memory::desc bias;     ///< empty where there is none
  dnnl::primitive_attr attributes;
  ir::Activation after;  ///< what oneDNN does not do; Identity otherwise
};

/// Whose weights or bias are computed, or who has nothing to compute; nothing for all others.
std::optional<Verdict> refuse_float_layer(const NodeContext& context);

/// The descriptions of a layer's bias, function and attributes; x, y and weights are the caller's.
/// @param activation  of the node
FloatLayerDescs describe_float_layer(const NodeContext& context, const ir::Activation& activation);

/// The kernel of a layer: weights decoded and brought to the layout that the primitive prefers, an
/// encoded input decoded in every run.
/// @param packed   the layout of the weights
/// @param scratch  what the primitive needs beside
Kernel float_layer_kernel(const NodeContext& context, FloatLayerDescs descs,
                          dnnl::primitive primitive, const dnnl::memory::desc& packed,
                          const dnnl::memory::desc& scratch);

}  // namespace halftone::runtime
