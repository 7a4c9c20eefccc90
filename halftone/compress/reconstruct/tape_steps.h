// SPDX-License-Identifier: Apache-2.0
// The families of steps behind make_tape_step().
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "halftone/compress/reconstruct/tape.h"

namespace halftone::compress {

/// @throws Error kUnsupported "WHAT has no gradient"
[[noreturn]] void fail_gradient(const std::string& what);

/// For each element of a result, which element of an operand it reads.
/// @pre the operand broadcasts to the result, both static
std::vector<std::size_t> broadcast_indices(const ir::Shape& operand, const ir::Shape& result);

/// Computes the output by the operator's definition, and has no gradient.
TapeStep definition_step(const TapeContext& context);

/// An Encode whose levels are learned.
TapeStep encode_step(const TapeContext& context);
/// FullyConnected, Conv, ConvTranspose.
TapeStep layer_step(const TapeContext& context, const ir::Activation& activation);
TapeStep matmul_step(const TapeContext& context, const ir::MatMul& op);
/// Backpropagation through time. Codes of states stand for their levels and pass gradients straight
/// through. Refuses sequences with lengths of their own.
/// Source: Werbos, Backpropagation Through Time, Proc. IEEE 78(10), 1990.
TapeStep recurrent_step(const TapeContext& context, const ir::Recurrent& op);
TapeStep unary_step(const TapeContext& context, const ir::Activation& activation);
/// With broadcasting; refuses remainders, shifts and whatever asks.
TapeStep binary_step(const TapeContext& context, const ir::Binary& op);
TapeStep where_step(const TapeContext& context);
/// Refuses averages that count padding, and windows that reach past it.
TapeStep pool_step(const TapeContext& context, const ir::Pool& op);
/// Refuses products.
TapeStep reduce_step(const TapeContext& context, const ir::Reduce& op);
TapeStep softmax_step(const TapeContext& context, const ir::Softmax& op);
TapeStep normalize_step(const TapeContext& context, const ir::Normalize& op);
/// Whatever only moves elements, or leaves zeros. Refuses places that are computed.
TapeStep move_step(const TapeContext& context);

}  // namespace halftone::compress
