// SPDX-License-Identifier: Apache-2.0
// The families of steps that make_step() creates.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "halftone/gradient/tape.h"

namespace halftone::gradient {

/// @throws Error kUnsupported "WHAT has no gradient"
[[noreturn]] void fail_gradient(const std::string& what);

/// For each element of a result, the index of the operand's element that it reads.
/// @pre the operand broadcasts to the result, both static
std::vector<std::size_t> broadcast_indices(const ir::Shape& operand, const ir::Shape& result);

/// Computes the output with the reference implementation; has no gradient.
Step definition_step(const StepContext& context);

/// An Encode whose levels are learned.
Step encode_step(const StepContext& context);
/// FullyConnected, Conv, ConvTranspose.
Step layer_step(const StepContext& context, const ir::Activation& activation);
Step matmul_step(const StepContext& context, const ir::MatMul& op);
/// Backpropagation through time. Codes of states represent their levels and pass gradients straight
/// through. Rejects sequences with individual lengths.
/// Source: Werbos, Backpropagation Through Time, Proc. IEEE 78(10), 1990.
Step recurrent_step(const StepContext& context, const ir::Recurrent& op);
Step unary_step(const StepContext& context, const ir::Activation& activation);
/// With broadcasting. Rejects remainders, shifts, logical operators and comparisons.
Step binary_step(const StepContext& context, const ir::Binary& op);
Step where_step(const StepContext& context);
/// Rejects averages that count padding, and windows that reach past the padding.
Step pool_step(const StepContext& context, const ir::Pool& op);
/// Rejects products.
Step reduce_step(const StepContext& context, const ir::Reduce& op);
Step softmax_step(const StepContext& context, const ir::Softmax& op);
Step normalize_step(const StepContext& context, const ir::Normalize& op);
/// Operators whose output elements are input elements or zeros. Rejects computed indices.
Step move_step(const StepContext& context);

}  // namespace halftone::gradient
