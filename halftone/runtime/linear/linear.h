// SPDX-License-Identifier: Apache-2.0
// Ways to compute FullyConnected and MatMul.
#pragma once

#include <optional>
#include <string>

#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// The float32 elements of a constant input; empty if the input is absent.
std::span<const float> constant_floats(const NodeContext& context, std::size_t input);

/// Why the weights of a fully connected layer cannot be packed as codes; nothing if they can.
std::optional<std::string> why_not_packed(const ir::Graph& graph, const ir::Node& node);
/// Why a fully connected layer cannot multiply bits of an encoded input by bits of its weights;
/// nothing if it can.
std::optional<std::string> why_not_bits(const ir::Graph& graph, const ir::Node& node);
/// Why it cannot multiply 8-bit integers by its weights; nothing if it can.
std::optional<std::string> why_not_int8(const ir::Graph& graph, const ir::Node& node);

/// Encoded input and encoded constant weights: bit planes, xor and popcount.
Verdict judge_xnor(const NodeContext& context);
Kernel create_xnor(const NodeContext& context);

/// Encoded constant weights: a dense input becomes integers of 8 bits in every run, each row on a
/// scale of its own; codes come as integers. They are multiplied by the bit planes of the weights.
Verdict judge_int8_planes(const NodeContext& context);
Kernel create_int8_planes(const NodeContext& context);
/// The same, but multiplied by the levels of the weights, rounded to 8 bits where they are not
/// evenly spaced.
Verdict judge_int8_levels(const NodeContext& context);
Kernel create_int8_levels(const NodeContext& context);

/// Codes somewhere: weights are decoded once, the input in every run; then oneDNN.
Verdict judge_decoded(const NodeContext& context);
/// Dense numbers and constant weights: oneDNN.
Verdict judge_dense(const NodeContext& context);
/// @pre judge_decoded() or judge_dense() accepted
Kernel create_inner_product(const NodeContext& context);

/// MatMul on oneDNN; a constant right operand is packed.
Verdict judge_matmul(const NodeContext& context);
Kernel create_matmul(const NodeContext& context);

}  // namespace halftone::runtime
