// SPDX-License-Identifier: Apache-2.0
// Maps an element type to the C++ type of its elements.
#pragma once

#include <cstdint>

#include "halftone/base/error.h"
#include "halftone/ir/tensor.h"

namespace halftone::ir {

/// Calls visit(T{}) with the C++ type of an element; booleans are bytes.
template <typename Visit>
auto with_element(ElementType type, Visit&& visit) {
  switch (type) {
    case ElementType::kFloat32:
      return visit(float{});
    case ElementType::kInt8:
      return visit(std::int8_t{});
    case ElementType::kUint8:
    case ElementType::kBool:
      return visit(std::uint8_t{});
    case ElementType::kInt32:
      return visit(std::int32_t{});
    case ElementType::kInt64:
      return visit(std::int64_t{});
    case ElementType::kInt16:
      return visit(std::int16_t{});
    case ElementType::kUint16:
      return visit(std::uint16_t{});
    case ElementType::kUint32:
      return visit(std::uint32_t{});
    case ElementType::kUint64:
      return visit(std::uint64_t{});
  }
  fail(ErrorKind::kInternal, "unknown element type");
}

/// True for integers; a boolean is not an integer.
constexpr bool is_integer(ElementType type) {
  return type != ElementType::kFloat32 && type != ElementType::kBool;
}

}  // namespace halftone::ir
