// SPDX-License-Identifier: Apache-2.0
// The families of steps behind make_tape_step().
#pragma once

#include <memory>

#include "halftone/compress/reconstruct/tape.h"

namespace halftone::compress {

/// FullyConnected, Conv, ConvTranspose.
TapeStep layer_step(const TapeContext& context, const ir::Activation& activation);
TapeStep unary_step(const TapeContext& context, const ir::Activation& activation);
/// Sum, difference, product and quotient, with broadcasting.
TapeStep binary_step(const TapeContext& context, const ir::Binary& op);
TapeStep pool_step(const TapeContext& context, const ir::Pool& op);
TapeStep softmax_step(const TapeContext& context, const ir::Softmax& op);
/// Whatever only moves elements, or leaves zeros: the definition is asked where each comes from.
TapeStep move_step(const TapeContext& context);

}  // namespace halftone::compress
