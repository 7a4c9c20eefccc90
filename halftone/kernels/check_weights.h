// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "halftone/numerics/encoding.h"

namespace halftone::kernels {

/// Checks that a kernel can pack the weights of a fully connected layer.
/// @param kernel       its name, for messages
/// @param codes        [o, n]
/// @param bias         [o], or empty for none
/// @param max_inputs  upper bound of n
/// @throws Error kUnsupported if n is larger; kShape as MatrixEncoding::check(), or if bits or the
///         length of the bias differ
void check_weights(const std::string& kernel, const numerics::BitPlanes& codes,
                   const numerics::MatrixEncoding& encoding, std::span<const float> bias,
                   std::size_t max_inputs);

/// Checks that bits of the codes are signs of coefficients, as kernels that work bit by bit need.
/// @throws Error kUnsupported if they are not
void check_summed(const std::string& kernel, const numerics::MatrixEncoding& encoding);

}  // namespace halftone::kernels
