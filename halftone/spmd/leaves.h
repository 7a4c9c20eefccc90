// SPDX-License-Identifier: Apache-2.0
// What this module does with arrays and trees beside what it shows of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "halftone/spmd/errors.h"
#include "halftone/spmd/tree.hpp"

namespace halftone::spmd::internal {

/// Calls visit(T{}) with the C++ type of an element.
/// @throws Error kUnsupported if there is no such type
template <typename Visit>
auto with_element(ElementType type, Visit&& visit) {
  switch (type) {
    case ElementType::kFloat32:
      return visit(float{});
    case ElementType::kFloat64:
      return visit(double{});
    case ElementType::kInt32:
      return visit(std::int32_t{});
    case ElementType::kInt64:
      return visit(std::int64_t{});
  }
  fail(ErrorKind::kUnsupported, "unknown element type");
}

/// Writes `src` to the entries from `begin` on along `axis` of an array of shape `shape`.
/// @pre both shapes agree on all other axes
void write_part(std::span<std::byte> dst, const Shape& shape, std::size_t axis, std::int64_t begin,
                const Array& src);

/// Checks that trees have the same structure. @param first_lane  index of the first, for messages
/// @throws Error kShape that names lane and types if they differ
void check_alike(const std::vector<Flat>& lanes, std::size_t first_lane);

}  // namespace halftone::spmd::internal
