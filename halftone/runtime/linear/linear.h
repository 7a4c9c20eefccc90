// SPDX-License-Identifier: Apache-2.0
// Implementations of FullyConnected, ExpertProduct and MatMul.
#pragma once

#include <optional>
#include <span>

#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// The float32 elements of a constant input; empty if the input is absent.
std::span<const float> constant_floats(const NodeContext& context, std::size_t input);

/// Refuses integers, weights or biases that are not constant, and empty layers; otherwise nothing.
std::optional<Verdict> refuse_float_layer(const NodeContext& context);

/// Encoded input and encoded constant weights: bit planes, xor and popcount.
extern const Implementation kFullyConnectedBits;
/// Encoded constant weights. A dense input is rounded to 8-bit integers in every run, with one
/// scale per row; codes arrive as integers. Multiplies them by the levels of the weights, rounded
/// to 8 bits unless they are evenly spaced.
extern const Implementation kFullyConnectedLevels;
/// Constant weights in blocks of codes, with kernels::multiply_groups().
extern const Implementation kFullyConnectedGroups;
/// Constant weights, with kernels::float_matmul(), whose order of sums is fixed. Decodes weights
/// once, and an encoded input in every run.
extern const Implementation kFullyConnectedFixed;
/// ExpertProduct with constant weights in blocks of codes, or decoded once, as the two above. Sorts
/// rows by expert and multiplies each expert with all of its rows; reads no others.
extern const Implementation kExpertGroups;
extern const Implementation kExpertFloats;
/// MatMul with kernels::float_matmul(). A constant right operand is packed once, a computed one in
/// every run unless few rows multiply it. Threads divide the products, their rows and columns.
extern const Implementation kMatMulFixed;

}  // namespace halftone::runtime
