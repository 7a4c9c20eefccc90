// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>
#include <vector>

namespace halftone::ir {

/// All names that name_of() has, of operators and of the functions of Unary, Binary and Pool.
std::vector<std::string_view> operator_names();

}  // namespace halftone::ir
