// SPDX-License-Identifier: Apache-2.0
// What a float network becomes before a fit: layers exposed and balanced, states kept.
#pragma once

#include <cstddef>
#include <functional>

#include "halftone/ir/graph.h"

namespace halftone::passes {

/// Turns products with constants that match_fully_connected() ignores into layers, whose weights
/// can be encoded: products where the constant is on the left, is a vector or has one matrix per
/// head, or where the other operand is transposed.
///
///     W  x              x              x  [.., H, t, k]           x
///     |  |              |              |                          |
///     MatMul            Transpose      MatMul  [H, k, n]          Transpose  [N, t, H k]
///     |           ->    |              |                  ->      |
///     y                 layer  W       y                          Conv of H groups, one tap
///                       |                                         |
///                       Transpose                                 Transpose
///                       y                                         y
///
/// If the other operand has no head axis, one FullyConnected computes all heads. Meant for graphs
/// to be quantized: float networks run faster unchanged.
/// @param wanted  whether to turn a product into a layer, which keeps its name
/// @return whether the graph changed; run simplify() afterwards to cancel transposes
bool expose_layers(ir::Graph& graph, const std::function<bool(const ir::Node&)>& wanted);

/// Sweeps end when no factor of a sweep differs from 1 by more than this ratio, or after so many.
inline constexpr double kEqualizeTolerance = 0x1p-20;
inline constexpr int kMaxEqualizeSweeps = 1000;

/// Channels whose bias exceeds this multiple of their range keep their scale.
inline constexpr double kMaxEqualizedBias = 1024;

/// Moves scales of channels between consecutive layers, so that each channel has the same range of
/// weights in both (cross-layer equalization).
///
///     x  [W1]  [b1]                     x  [W1 / s]  [b1 / s]
///      \  |   /                          \    |     /
///       layer                             layer
///         |                                 |
///        ReLU  [W2]              ->        ReLU  [s W2]
///           \  /                              \  /
///           layer                             layer
///
/// With r1_i = max |W1[i, :]| and r2_i = max |W2[:, i]| for channel i, the factor is
/// s_i = sqrt(r1_i r2_i) / r2_i. Afterwards both ranges are sqrt(r1_i r2_i). Pairs of a chain
/// change each other's ranges, so all pairs are swept, in order of execution, until the factors
/// are 1. Factors accumulate in double precision and are applied once: each weight and bias is
/// rounded once. No output changes by more than rounding. The result does not depend on threads.
///
/// Layers are FullyConnected, Conv (depthwise and grouped too) and ConvTranspose with constant
/// float32 weights. Between them may be functions f with f(s x) = s f(x) for s > 0 that keep
/// channels apart: Relu, LeakyRelu and PRelu, pooling, means, sums and extremes along other axes,
/// padding with zeros or copies, and Reshape. Any other function ends a chain, Relu6 too.
///
/// Unchanged: pairs whose value between the layers is an output of the graph or has another reader;
/// layers that share weights or a bias with another node; layers with codes for weights; channels
/// whose r1_i or r2_i is zero, subnormal or not finite, or whose bias would become infinite; and
/// channels with |b1_i| > kMaxEqualizedBias r1_i. Their output is almost constant. Training leaves
/// such channels with weights near zero, and the formula would make this constant huge.
/// @param wanted  whether a layer may change; asked for both layers of a pair
/// @return the number of pairs that changed: those with a factor that differs from 1 by more than
///         four times kEqualizeTolerance
/// Source: Nagel et al., Data-Free Quantization Through Weight Equalization and Bias Correction,
/// ICCV 2019 (arXiv:1906.04721), section 4.1, eq. 9-11. Differs: almost constant channels keep
/// their scale. Relu6 is not replaced by Relu, and large biases are not absorbed by the next layer
/// (section 4.1.3), since both change the function.
std::size_t equalize(ir::Graph& graph, const std::function<bool(const ir::Node&)>& wanted);

/// Makes layers that give cells, of which nobody reads any, give their hidden states alone.
/// @return whether anything changed
bool drop_unused_cells(ir::Graph& graph);

/// Makes states (ir::State) of what recurrent layers remember, so that runs on the parts of a
/// sequence, one after the other, compute what one run on the whole sequence does: a layer that
/// starts from zeros starts from where the last run ended instead. A layer whose start is computed
/// or an input of the graph keeps it.
/// @return the number of new states
/// @throws Error kUnsupported "node 'NAME' (Recurrent): ..." for a layer that reads its sequence
///         backwards, whose sequences have lengths, or that starts from constants other than zero
std::size_t keep_recurrent_states(ir::Graph& graph);

}  // namespace halftone::passes
