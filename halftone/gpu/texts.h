// SPDX-License-Identifier: Apache-2.0
// The texts of kernels, from text/.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include "halftone/base/embedded_text.h"

namespace halftone::gpu {

std::span<const EmbeddedText> kernel_texts();

/// A finite float with all its bits, whatever the locale: "(0x1.8p+1f)".
std::string exact(float number);

/// Macros that elementary.cl uses: the constants and polynomials of math_constants.h.
std::string elementary_constants();

/// A program: lines of macros, then the texts of these names after the prelude; "elementary" comes
/// with its constants.
/// @throws Error kInternal if there is no such text
std::string program_text(std::string_view macros, std::initializer_list<std::string_view> names);

}  // namespace halftone::gpu
