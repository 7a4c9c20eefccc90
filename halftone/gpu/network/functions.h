// SPDX-License-Identifier: Apache-2.0
// Functions of one number in the text of kernels. Private to this folder.
#pragma once

#include <optional>
#include <string>

#include "halftone/gpu/programs.h"
#include "halftone/ir/ops/activation.h"

namespace halftone::gpu {

/// A float in the text of a kernel, with all its bits.
std::string float_text(float number);

/// The macro FUNCTION, for programs with the texts "elementary" and "functions", with the bits of
/// runtime::apply_activation(); nothing if there is none.
std::optional<std::string> function_macro(const ir::Activation& activation);

/// y[i] = f(x[i]); x and y may be the same. @pre function_macro()
Launch apply_function(Programs& programs, const ir::Activation& f, const Buffer& x, const Buffer& y,
                      std::size_t count);

}  // namespace halftone::gpu
