// SPDX-License-Identifier: Apache-2.0
// The families of steps behind make_step().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "halftone/gradient/tape.h"

namespace halftone::gradient {

/// @throws Error kUnsupported "WHAT has no gradient"
[[noreturn]] void fail_gradient(const std::string& what);

/// For each element of a result, which element of an operand it reads.
/// @pre the operand broadcasts to the result, both static
std::vector<std::size_t> broadcast_indices(const ir::Shape& operand, const ir::Shape& result);

/// Computes the output by the operator's definition, and has no gradient.
Step definition_step(const StepContext& context);

/// An Encode whose levels are learned.
Step encode_step(const StepContext& context);
/// FullyConnected, Conv, ConvTranspose.
Step layer_step(const StepContext& context, const ir::Activation& activation);
Step matmul_step(const StepContext& context, const ir::MatMul& op);
/// Backpropagation through time. Codes of states stand for their levels and pass gradients straight
/// through. Refuses sequences with lengths of their own.
/// Source: Werbos, Backpropagation Through Time, Proc. IEEE 78(10), 1990.
Step recurrent_step(const StepContext& context, const ir::Recurrent& op);
Step unary_step(const StepContext& context, const ir::Activation& activation);
/// With broadcasting; refuses remainders, shifts and whatever asks.
Step binary_step(const StepContext& context, const ir::Binary& op);
Step where_step(const StepContext& context);
/// Refuses averages that count padding, and windows that reach past it.
Step pool_step(const StepContext& context, const ir::Pool& op);
/// Refuses products.
Step reduce_step(const StepContext& context, const ir::Reduce& op);
Step softmax_step(const StepContext& context, const ir::Softmax& op);
Step normalize_step(const StepContext& context, const ir::Normalize& op);
/// Whatever only moves elements, or leaves zeros. Refuses places that are computed.
Step move_step(const StepContext& context);

}  // namespace halftone::gradient
