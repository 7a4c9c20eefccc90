// SPDX-License-Identifier: Apache-2.0
// Ways to compute with integers of 8 bits, exactly, and to get there and back.
#pragma once

#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// FullyConnected and Conv of int8 or uint8 with constant weights: exact sums of 32 bits.
Verdict judge_integer_layer(const NodeContext& context);
Kernel create_integer_layer(const NodeContext& context);

/// Rounded once.
Verdict judge_requantize(const NodeContext& context);
Kernel create_requantize(const NodeContext& context);
/// Rounded twice.
Verdict judge_requantize_fixed(const NodeContext& context);
Kernel create_requantize_fixed(const NodeContext& context);

Verdict judge_lookup(const NodeContext& context);
Kernel create_lookup(const NodeContext& context);

/// Poolings of int8 or uint8.
Verdict judge_pool_codes(const NodeContext& context);
Kernel create_pool_codes(const NodeContext& context);

/// Sums of int32 over axes that follow each other.
Verdict judge_sum_integers(const NodeContext& context);
Kernel create_sum_integers(const NodeContext& context);

/// One scale for the tensor, to 8 bits.
Verdict judge_quantize(const NodeContext& context);
Kernel create_quantize(const NodeContext& context);
/// One scale for the tensor, or one for each index of the last axis.
Verdict judge_dequantize(const NodeContext& context);
Kernel create_dequantize(const NodeContext& context);

}  // namespace halftone::runtime
