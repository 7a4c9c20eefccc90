// SPDX-License-Identifier: Apache-2.0
// Implementations of Reduce, Normalize and Softmax, and the blocks of columns that they divide.
#pragma once

#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <vector>

#include "halftone/base/parallel.h"
#include "halftone/runtime/implementation.h"

namespace halftone::runtime {

/// Joins adjacent axes into one, with the axes before and after; nothing if they are not adjacent.
std::optional<ir::AxisView> joined_axes(const ir::Shape& shape,
                                        const std::vector<std::size_t>& axes);

/// Reduce of float32 over adjacent axes: sums (in double precision), means, extrema, norms.
extern const Implementation kReduceFloats;
/// Normalize over adjacent axes.
extern const Implementation kNormalizeFloats;
/// Softmax over the last axis with beta 1, with halftone/kernels.
extern const Implementation kSoftmaxRows;
/// Softmax of codes over the last axis.
extern const Implementation kSoftmaxCodes;

/// Number of columns summed together, and of partial sums per row.
inline constexpr std::size_t kLanes = 16;

/// A block of columns, reduced separately so that partial sums stay in registers.
struct Block {
  std::size_t begin = 0;  ///< of the first element
  std::size_t width = 0;  ///< columns, at most kLanes
  std::size_t step = 0;   ///< between rows
  std::size_t rows = 0;
};

/// Block i of a view. With one column, its rows are cut into kLanes adjacent lines.
Block block_of(const ir::AxisView& view, std::size_t i);
std::size_t num_blocks(const ir::AxisView& view);
/// Number of threads among which the blocks of a view are divided.
std::size_t block_shares(const ir::AxisView& view, int threads);

/// Calls body(first, last) for ranges that make up [0, count), in parallel.
template <typename Body>
void for_shares(std::size_t count, std::size_t shares, const Body& body) {
  if (shares <= 1) return body(0, count);
  const auto share = [&](std::size_t i) { body(count * i / shares, count * (i + 1) / shares); };
  parallel_for(shares, std::ref(share));
}

using Lanes = std::array<double, kLanes>;

/// lanes[c] = sum over rows of term(x, c), in the order of the rows. A single column is summed in
/// kLanes partial sums, which are combined at the end.
template <typename Term>
void sum_block(const float* x, const Block& block, Lanes& lanes, Term term) {
  lanes.fill(0);
  if (block.step == 1) {
    std::size_t row = 0;
    for (; row + kLanes <= block.rows; row += kLanes) {
      for (std::size_t c = 0; c < kLanes; ++c) lanes[c] += term(x[block.begin + row + c], 0);
    }
    for (std::size_t c = 0; row < block.rows; ++row, ++c) {
      lanes[c] += term(x[block.begin + row], 0);
    }
    for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
      for (std::size_t c = 0; c < half; ++c) lanes[c] += lanes[c + half];
    }
    return;
  }
  for (std::size_t row = 0; row < block.rows; ++row) {
    const float* line = x + block.begin + row * block.step;
    if (block.width == kLanes) {
      for (std::size_t c = 0; c < kLanes; ++c) lanes[c] += term(line[c], c);
    } else {
      for (std::size_t c = 0; c < block.width; ++c) lanes[c] += term(line[c], c);
    }
  }
}

}  // namespace halftone::runtime
