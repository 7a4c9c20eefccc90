// SPDX-License-Identifier: Apache-2.0
// Boxes of elements copied from one layout to another.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/ir/shape.h"

namespace halftone::runtime {

/// An axis of a box: how many steps, and how far a step goes in source and destination.
struct CopyAxis {
  std::size_t count = 1;
  std::ptrdiff_t src_bytes = 0;  ///< 0: every step reads the same, below 0: backwards
  std::ptrdiff_t dst_bytes = 0;
};

/// dst[sum_i k_i dst_i] = src[sum_i k_i src_i] for all 0 <= k_i < count_i, chunk_bytes at a time.
struct StridedCopy {
  std::vector<CopyAxis> axes;
  std::size_t chunk_bytes = 1;
  std::ptrdiff_t src_offset = 0;  ///< in bytes, as the next
  std::ptrdiff_t dst_offset = 0;
};

/// A copy of a box with these extents to memory in row-major order.
/// @param src_strides  in elements, one for each axis
StridedCopy copy_to_rows(const ir::Shape& shape, const std::vector<std::ptrdiff_t>& src_strides,
                         std::size_t element_bytes);

/// The same copy with as few axes as it takes, in the order that suits caches.
StridedCopy simplified(StridedCopy copy);

/// Copies. @pre the copy is simplified, source and destination do not overlap
/// @param shares  into how many parts the work is divided, on several threads
void run_copy(const StridedCopy& copy, const std::byte* src, std::byte* dst, std::size_t shares);

/// How many parts of a copy are worth a thread each: some 50 us of work.
std::size_t copy_shares(std::size_t bytes, int threads);

}  // namespace halftone::runtime
