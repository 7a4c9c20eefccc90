// SPDX-License-Identifier: Apache-2.0
// Ways to compute FullyConnected and MatMul.
#pragma once

#include <optional>
#include <span>
#include <string>

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// The float32 elements of a constant input; empty if the input is absent.
std::span<const float> constant_floats(const NodeContext& context, std::size_t input);

/// Why the weights of a layer cannot be packed as codes; nothing if they can.
std::optional<std::string> why_not_packed(const NodeContext& context);

/// Encoded input and encoded constant weights: bit planes, xor and popcount.
extern const Implementation kFullyConnectedBits;
/// Encoded constant weights: a dense input is rounded to integers of 8 bits in every run, each row
/// on a scale of its own; codes come as integers. They are multiplied by the bit planes of the
/// weights.
extern const Implementation kFullyConnectedPlanes;
/// The same, but multiplied by the levels of the weights, rounded to 8 bits where they are not
/// evenly spaced.
extern const Implementation kFullyConnectedLevels;
/// Codes in the input or the weights: weights are decoded once, the input in every run; then
/// oneDNN.
extern const Implementation kFullyConnectedDecoded;
/// A dense input and dense constant weights: oneDNN.
extern const Implementation kFullyConnectedFloat;
/// Dense or decoded numbers and constant weights, by kernels::float_matmul(), whose order of sums
/// is fixed.
extern const Implementation kFullyConnectedFixed;
/// MatMul by kernels::float_matmul(); a constant right operand is packed once, a computed one in
/// every run.
extern const Implementation kMatMulFixed;
/// MatMul on oneDNN; a constant right operand is packed.
extern const Implementation kMatMulFloat;

}  // namespace halftone::runtime
