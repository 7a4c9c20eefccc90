// SPDX-License-Identifier: Apache-2.0
// Float32 layers on oneDNN.
#pragma once

#include "halftone/runtime/implementation.h"
#include "halftone/runtime/onednn/primitive.h"

namespace halftone::runtime {

/// The descriptors of a primitive before its layouts are known.
struct FloatLayerDescs {
  dnnl::memory::desc x;
  dnnl::memory::desc y;
  dnnl::memory::desc weights;  ///< as stored in the graph
  dnnl::memory::desc bias;     ///< empty without bias
  dnnl::primitive_attr attributes;
  ir::Activation after;  ///< applied after oneDNN; Identity if oneDNN applies it
};

/// Describes a layer's bias, activation and attributes; the caller describes x, y and weights.
/// @param activation  of the node
FloatLayerDescs describe_float_layer(const NodeContext& context, const ir::Activation& activation);

/// The kernel of a layer: decodes the weights and reorders them to the layout that the primitive
/// prefers; decodes an encoded input in every run.
/// @param packed   the layout of the weights
/// @param scratch  the scratch memory of the primitive
Kernel float_layer_kernel(const NodeContext& context, FloatLayerDescs descs,
                          dnnl::primitive primitive, const dnnl::memory::desc& packed,
                          const dnnl::memory::desc& scratch);

/// A dense input and dense constant weights.
extern const Implementation kOneDnnFullyConnected;
/// The same, one to three spatial axes.
extern const Implementation kOneDnnConv;
extern const Implementation kOneDnnConvTranspose;
/// A constant right operand is packed.
extern const Implementation kOneDnnMatMul;
/// Means over one to three spatial axes.
extern const Implementation kOneDnnPool;

}  // namespace halftone::runtime
