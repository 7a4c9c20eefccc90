// SPDX-License-Identifier: Apache-2.0
// Memory planning: one block for all values of a run.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace halftone::runtime {

/// A buffer and its lifetime: steps first to last, both included.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// The positions of the buffers.
struct ArenaLayout {
  std::vector<std::size_t> offsets;  ///< one per buffer, multiples of AlignedBuffer::kAlignment
  std::size_t size_bytes = 0;
};

/// Places buffers so that no two with overlapping lifetimes overlap in memory. Places the largest
/// buffer first (the first of equal ones), each at the lowest offset that is free during its
/// lifetime. Cost: the square of the number of buffers.
/// Source: Pisarchyk, Lee, Efficient Memory Management for Deep Neural Net Inference,
/// arXiv:2001.03288, Algorithm 3 (greedy by size).
/// Differs: uses the lowest gap that fits, not the smallest.
ArenaLayout plan_arena(std::span<const Lifetime> pieces);

}  // namespace halftone::runtime
