// SPDX-License-Identifier: Apache-2.0
// Implementations of the operators that move elements, and of Gather.
#pragma once

#include <cstddef>
#include <vector>

#include "halftone/ir/shape.h"
#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// Transpose, Slice, Concat, BroadcastTo, Tile, and Pad with a constant: as strided copies.
extern const Implementation kStridedCopy;

/// Gather as copies of rows.
extern const Implementation kGatherRows;
/// Gather from a constant table of codes: only the rows that are looked up are decoded.
extern const Implementation kGatherCodes;
/// Rows of a constant table in blocks, decoded in every run.
extern const Implementation kGatherBlocks;

/// An axis of a box: the number of steps, and the distance of a step in source and destination.
struct CopyAxis {
  std::size_t count = 1;
  std::ptrdiff_t src_bytes = 0;  ///< 0: every step reads the same element; negative: backwards
  std::ptrdiff_t dst_bytes = 0;
};

/// dst[sum_i k_i dst_i] = src[sum_i k_i src_i] for all 0 <= k_i < count_i, chunk_bytes at a time.
struct StridedCopy {
  std::vector<CopyAxis> axes;
  std::size_t chunk_bytes = 1;
  std::ptrdiff_t src_offset = 0;  ///< in bytes, like dst_offset
  std::ptrdiff_t dst_offset = 0;
};

/// A copy from one of the inputs of a node.
struct InputCopy {
  std::size_t input = 0;
  StridedCopy copy;
};
/// The copies that produce the output of such a node, element by element; that of a Pad is filled
/// before, with its second input or zeros. @pre kStridedCopy accepts it
std::vector<InputCopy> input_copies(const NodeContext& context);

/// A copy of a box with these extents to memory in row-major order.
/// @param src_strides  in elements, one for each axis
StridedCopy copy_to_rows(const ir::Shape& shape, const std::vector<std::ptrdiff_t>& src_strides,
                         std::size_t element_bytes);

/// The same copy with the fewest axes, in a cache-friendly order.
StridedCopy simplified(StridedCopy copy);

/// Copies. @pre the copy is simplified, source and destination do not overlap
/// @param shares  number of parts that run on several threads
void run_copy(const StridedCopy& copy, const std::byte* src, std::byte* dst, std::size_t shares);

/// Number of parts of a copy that are worth a thread each: about 50 us of work.
std::size_t copy_shares(std::size_t bytes, int threads);

}  // namespace halftone::runtime
