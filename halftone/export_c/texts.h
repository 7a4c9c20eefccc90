// SPDX-License-Identifier: Apache-2.0
// The C texts of kernels, from text/.
#pragma once

#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "halftone/base/embedded_text.h"

namespace halftone::export_c {

std::span<const EmbeddedText> kernel_texts();

/// The texts of these names and of those that they need, each behind what it needs: a text names
/// them in its first line, "/* needs: window dot_i8 */".
/// @throws Error kInternal if there is no such text
std::vector<const EmbeddedText*> with_needs(const std::set<std::string>& names);

/// The text without the line of what it needs.
std::string_view body_of(const EmbeddedText& text);

}  // namespace halftone::export_c
