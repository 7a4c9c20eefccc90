// SPDX-License-Identifier: Apache-2.0
// Codes with their encoding, as references and constructors of weights take them.
#pragma once

#include <span>

#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// Encoded weights of a layer. Refers to its parts.
struct EncodedWeights {
  const numerics::BitPlanes& codes;          ///< [outputs, inputs of an output]
  const numerics::MatrixEncoding& encoding;  ///< of `codes`
  std::span<const float> bias = {};          ///< [outputs], or empty for none
};

/// Encoded activations with one basis. Refers to its parts.
struct EncodedInputs {
  const numerics::BitPlanes& codes;
  const numerics::Basis& basis;
};

}  // namespace halftone::kernels
