// SPDX-License-Identifier: Apache-2.0
// Reads templates.
#pragma once

#include <string_view>
#include <vector>

#include "halftone/lm/chat/jinja/syntax.h"

namespace halftone::lm::jinja {

/// @param source  UTF-8
/// @throws Error kFormat "line 3: ..." of what is no template; kUnsupported of tags that chat
///         templates do not have: include, import, extends, block, autoescape, trans, do
std::vector<Statement> parse(std::string_view source);

}  // namespace halftone::lm::jinja
