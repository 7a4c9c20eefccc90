// SPDX-License-Identifier: Apache-2.0
// Checks of markup that tests share.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace halftone::report {

/// Whether all elements are closed in order and all quotes of attributes are closed.
bool is_well_formed(std::string_view xml);

/// How often a part occurs in a text.
std::size_t count(const std::string& text, const std::string& part);

}  // namespace halftone::report
