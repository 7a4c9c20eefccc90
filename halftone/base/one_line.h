// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <string_view>

namespace halftone {

/// As printable(), but line feeds are escaped too: a name from a file as a part of a line.
std::string one_line(std::string_view text);

}  // namespace halftone
