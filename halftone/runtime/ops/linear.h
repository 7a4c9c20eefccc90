// SPDX-License-Identifier: Apache-2.0
// Ways to compute FullyConnected and MatMul.
#pragma once

#include "halftone/runtime/kernel.h"

namespace halftone::runtime {

/// Encoded input and encoded constant weights: bit planes, xor and popcount.
Verdict judge_xnor(const NodeContext& context);
Kernel create_xnor(const NodeContext& context);

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
