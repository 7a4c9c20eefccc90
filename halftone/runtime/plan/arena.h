// SPDX-License-Identifier: Apache-2.0
// One block of memory for all values of a run.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace halftone::runtime {

/// A piece of memory and when it is needed: during the steps first to last, both included.
struct Lifetime {
  std::size_t bytes = 0;
  std::size_t first = 0;
  std::size_t last = 0;
};

/// Where the pieces lie.
struct ArenaLayout {
  std::vector<std::size_t> offsets;  ///< one per piece, multiples of AlignedBuffer::kAlignment
  std::size_t size_bytes = 0;
};

/// Lays pieces out so that no two that are needed in the same step overlap. The largest piece
/// first (of equal ones the first), each at the lowest offset that is free during its whole life.
/// Cost: the square of the number of pieces.
/// Source: Pisarchyk, Lee, Efficient Memory Management for Deep Neural Net Inference,
/// arXiv:2001.03288, Algorithm 3 (greedy by size).
/// Differs: the lowest gap that fits, not the smallest.
ArenaLayout plan_arena(std::span<const Lifetime> pieces);

}  // namespace halftone::runtime
