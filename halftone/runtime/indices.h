// SPDX-License-Identifier: Apache-2.0
// Indices of 32 or 64 bits in the memory of a session.
#pragma once

#include <cstddef>
#include <cstdint>

#include "halftone/ir/tensor.h"

namespace halftone::runtime {

struct Indices {
  const std::byte* data = nullptr;
  bool wide = false;  ///< int64, else int32

  [[nodiscard]] std::int64_t operator[](std::size_t i) const {
    return wide ? reinterpret_cast<const std::int64_t*>(data)[i]
                : reinterpret_cast<const std::int32_t*>(data)[i];
  }
};

inline bool are_wide(const ir::ValueType& indices) {
  return indices.is_dense(ir::ElementType::kInt64);
}

}  // namespace halftone::runtime
