// SPDX-License-Identifier: Apache-2.0
// Ways to compute Conv, ConvTranspose and Pool.
#pragma once

#include <optional>
#include <string>

#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// Why a Conv cannot convolve bits of an encoded input by bits of its weights; nothing if it can.
std::optional<std::string> why_not_bit_conv(const ir::Graph& graph, const ir::Node& node);

/// Encoded input and encoded constant weights, a basis per tensor or channel: bits by bits.
Verdict judge_conv_bits(const NodeContext& context);
Kernel create_conv_bits(const NodeContext& context);

/// Why a Conv cannot convolve 8-bit integers by its weights; nothing if it can.
std::optional<std::string> why_not_int8_conv(const ir::Graph& graph, const ir::Node& node);
/// Encoded input, which comes as integers, and encoded constant weights of any granularity, whose
/// levels are rounded to 8 bits where they are not evenly spaced.
Verdict judge_conv_int8(const NodeContext& context);
Kernel create_conv_int8(const NodeContext& context);

/// Dense or decoded numbers and constant weights, one to three spatial axes: oneDNN.
Verdict judge_conv_float(const NodeContext& context);
Kernel create_conv_float(const NodeContext& context);
Verdict judge_conv_transpose_float(const NodeContext& context);
Kernel create_conv_transpose_float(const NodeContext& context);

/// One to three spatial axes: oneDNN.
Verdict judge_pool(const NodeContext& context);
Kernel create_pool(const NodeContext& context);

}  // namespace halftone::runtime
