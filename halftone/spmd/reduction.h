// SPDX-License-Identifier: Apache-2.0
// Sums, maxima and minima over lanes, in one order.
//
// Rounding makes a sum depend on its order. Ours is a binary tree over the lanes' indices, aligned
// at powers of two; what has no partner moves up as it is:
//
//     0   1   2   3   4   5
//      \ /     \ /     \ /
//       +       +       +     level 1: node i covers lanes [2i, 2i + 2)
//        \_____/        |
//           +           |     level 2: node i covers lanes [4i, 4i + 4)
//            \_________/
//                 +           level 3
//
// The tree depends on the number of lanes alone. Whoever holds neighbouring lanes, a device or a
// process, adds up the nodes that lie within them, and what is left to exchange is few nodes; the
// result has the same bits however the lanes are dealt out.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "halftone/spmd/array.h"

namespace halftone::spmd::internal {

enum class Reduction { kSum, kMax, kMin };

/// dst[i] = a[i] o b[i]; dst may be a or b. NaN wins; sums of integers wrap around.
void combine(Reduction reduction, ElementType element, std::span<std::byte> dst,
             std::span<const std::byte> a, std::span<const std::byte> b);

/// x[i] /= divisor, of floating point elements.
void divide(ElementType element, std::span<std::byte> x, std::size_t divisor);

/// dst = the tree over the sources, which lanes 0, 1, ... brought.
/// @pre all are equally long; there is at least one source
void reduce(Reduction reduction, ElementType element, std::span<std::byte> dst,
            std::span<const std::span<const std::byte>> sources);

/// A node of the tree: it covers lanes [index << level, (index + 1) << level).
struct TreeNode {
  std::size_t level = 0;
  std::size_t index = 0;
  auto operator<=>(const TreeNode&) const = default;
};

/// The tree while lanes come in, in any order: nodes whose halves are there are combined at once,
/// so that of n lanes in order no more than log2(n) + 1 are held. Several threads may add.
class TreeReduction {
 public:
  TreeReduction(Reduction reduction, std::size_t num_lanes)
      : reduction_(reduction), num_lanes_(num_lanes) {}

  /// @pre arrays alike are added at every node
  void add(TreeNode node, std::vector<Array> arrays) { add(node, Entry{std::move(arrays), {}}); }
  /// Of arrays that nobody else has: partial results may take their memory.
  void add(TreeNode node, std::vector<ArrayDraft> arrays);
  void add_lane(std::size_t lane, std::vector<Array> arrays) { add({0, lane}, std::move(arrays)); }

  /// What could not be combined further.
  [[nodiscard]] std::map<TreeNode, std::vector<Array>> nodes() const;
  /// @pre every lane has been added
  [[nodiscard]] std::vector<Array> result() const;

 private:
  /// Memory is written again only where it is our own.
  struct Entry {
    std::vector<Array> arrays;
    std::vector<std::span<std::byte>> own;
  };

  void add(TreeNode node, Entry entry);
  [[nodiscard]] Entry combined(Entry left, Entry right) const;

  Reduction reduction_;
  std::size_t num_lanes_;
  mutable std::mutex mutex_;
  std::map<TreeNode, Entry> entries_;
};

}  // namespace halftone::spmd::internal
