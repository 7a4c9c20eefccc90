// SPDX-License-Identifier: Apache-2.0
// Ways to compute Recurrent: one loop over the steps, and as many ways to multiply in it.
#pragma once

#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// Encoded states and weights: bit planes, xor and popcount.
Verdict judge_recurrent_bits(const NodeContext& context);
Kernel create_recurrent_bits(const NodeContext& context);
/// Encoded weights and states as integers of 8 bits, by the planes or the levels of the weights.
Verdict judge_recurrent_int8(const NodeContext& context);
Kernel create_recurrent_int8(const NodeContext& context);
/// Float32, what is encoded decoded: weights once, states in every step.
Verdict judge_recurrent_float(const NodeContext& context);
Kernel create_recurrent_float(const NodeContext& context);

}  // namespace halftone::runtime
