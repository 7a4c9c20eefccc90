// SPDX-License-Identifier: Apache-2.0
// Shared by layers of codes of few bits.
#pragma once

#include <span>

#include "halftone/export_c/scope.h"

namespace halftone::export_c {

/// The bias of a layer; empty without one.
/// @throws Error kUnsupported as Scope::refuse() if it is computed
std::span<const float> bias_of(const Scope& scope);

/// A convolution of codes, with its residual, activation and encoding.
void write_code_conv(Scope& scope, const ir::Conv& conv, const ir::EncodedTensor& weights,
                     bool is_bits);

}  // namespace halftone::export_c
