// SPDX-License-Identifier: Apache-2.0
// The element types that graphs hold.
#pragma once

#include <cstdint>
#include <utility>

#include "halftone/base/element_type.h"

namespace halftone::ir {

using halftone::is_half;
using halftone::is_integer;

/// Calls visit(T{}) with the C++ type of an element; booleans are bytes, and floats of 16 bits the
/// integers of their bits, so that only operators that move elements may visit those.
/// @throws Error kUnsupported if graphs do not hold such elements (float64)
template <typename Visit>
auto with_element(ElementType type, Visit&& visit) {
  return visit_element<float, std::int8_t, std::uint8_t, std::int16_t, std::uint16_t, std::int32_t,
                       std::uint32_t, std::int64_t, std::uint64_t>(type,
                                                                   std::forward<Visit>(visit));
}

/// @throws Error kUnsupported if graphs do not hold such elements (float64)
void require_graph_element(ElementType type);

}  // namespace halftone::ir
