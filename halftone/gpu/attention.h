// SPDX-License-Identifier: Apache-2.0
// Rotary positions, caches and attention on a device, with the bits of kernels/attention.
#pragma once

#include <cstddef>

#include "halftone/gpu/programs.h"
#include "halftone/kernels/attention/attention.h"

namespace halftone::gpu {

/// Where the rows of a run belong: kernels::CacheRows on a device, which must be within the caches.
struct TokenRows {
  std::size_t count = 0;
  const Buffer& slots;      ///< int32 [count]
  const Buffer& positions;  ///< int32 [count]
};

/// Rows to be turned.
struct RotaryRows {
  kernels::RotaryShape shape;
  std::size_t size = 0;  ///< numbers of a head
  std::size_t count = 0;
};
struct RotaryBuffers {
  const Buffer& x;
  const Buffer& positions;  ///< int32 [count], within the tables
  const Buffer& cosines;
  const Buffer& sines;
  const Buffer& y;
};
/// kernels::rotate().
Launch rotate(Programs& programs, const RotaryRows& rows, const RotaryBuffers& buffers);

/// Rows of heads.
struct BlockRows {
  std::size_t heads = 1;
  std::size_t size = 0;  ///< numbers of a head
  std::size_t count = 0;
};
/// numerics::rotate_blocks() of each head.
/// @param x, y  [count, heads * size]; may be the same
Launch rotate_blocks(Programs& programs, const BlockRows& rows, const Buffer& x, const Buffer& y);

/// A cache of keys or of values.
struct Cache {
  kernels::CacheShape shape;
  bool holds_keys = false;
  const Buffer& bytes;
};
/// kernels::append_keys() or append_values().
/// @param x  [count, heads * size], after rotate_blocks() if the cache is_rotated()
Launch append(Programs& programs, const TokenRows& rows, const Buffer& x, const Cache& cache);

/// Rows of floats within others: row r is at begin + r stride.
struct RowsWithin {
  const Buffer& buffer;
  std::size_t begin = 0;
  std::size_t stride = 0;
};
/// A norm of each head, with a gain.
struct HeadNorm {
  const Buffer* gain = nullptr;  ///< null: none
  float epsilon = 0;
};
struct HeadRows {
  RowsWithin rows;
  HeadNorm norm{};
};
struct CachePair;
/// The angles of positions; dims 0: heads are not turned.
struct HeadAngles {
  kernels::RotaryShape shape;
  const Buffer* cosines = nullptr;
  const Buffer* sines = nullptr;
};
/// Numbers of a head at most.
inline constexpr std::size_t kMaxPlacedHead = 512;
struct PlacedHeads {
  std::size_t heads = 0;  ///< of queries
  HeadRows queries;
  HeadRows keys;
  RowsWithin values;
  HeadAngles angles{};
};
/// Norms of heads, rotate() and append() of queries, keys and values in one launch.
/// @param queries  gets the queries: [count, heads * size]
/// @pre   sizes up to kMaxPlacedHead; caches of the same heads, and of floats of one type
Launch place_heads(Programs& programs, const PlacedHeads& from, const CachePair& caches,
                   const TokenRows& rows, const Buffer& queries);

/// Floats that attend() needs for a row and head: a weight for each token, a scale for each group.
constexpr std::size_t score_size(std::size_t context) {
  return context + context / kernels::kWeightGroup + 1;
}
struct AttentionBuffers {
  const Buffer& queries;
  const Buffer* sinks = nullptr;
  const Buffer& scores;  ///< scratch: [rows, heads, score_size(context)] floats
  const Buffer& y;
};
struct CachePair {
  Cache keys;
  Cache values;
};
/// kernels::attend() for all rows and heads, but for rotate_blocks() of queries before it, if keys
/// are rotated, and of y behind it, if values are. `shape.sinks` is not read.
/// @throws Error kUnsupported for keys and values of different types
Launch attend(Programs& programs, const kernels::AttentionShape& shape, const CachePair& caches,
              const TokenRows& rows, const AttentionBuffers& buffers);

}  // namespace halftone::gpu
