// SPDX-License-Identifier: Apache-2.0
// Sums, maxima and minima over lanes, in a fixed order.
//
// Rounding makes a sum depend on its order. The order here is a binary tree over the lanes'
// indices, aligned at powers of two; a node without a partner moves up unchanged:
//
//     0   1   2   3   4   5
//      \ /     \ /     \ /
//       +       +       +     level 1: node i covers lanes [2i, 2i + 2)
//        \_____/        |
//           +           |     level 2: node i covers lanes [4i, 4i + 4)
//            \_________/
//                 +           level 3
//
// The tree depends on the number of lanes only. A device or process that holds neighbouring lanes
// combines the nodes within them, so that few nodes remain to be exchanged. The result has the same
// bits for every assignment of lanes.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "halftone/spmd/array.hpp"

namespace halftone::spmd::internal {

enum class Reduction { kSum, kMax, kMin };

/// dst[i] = a[i] o b[i]; dst may be a or b. NaN propagates; sums of integers wrap around.
void combine(Reduction reduction, ElementType element, std::span<std::byte> dst,
             std::span<const std::byte> a, std::span<const std::byte> b);

/// x[i] /= divisor, of floating point elements.
void divide(ElementType element, std::span<std::byte> x, std::size_t divisor);

/// dst = the tree over the sources, those of lanes 0, 1, ...
/// @pre all are equally long; there is at least one source
void reduce(Reduction reduction, ElementType element, std::span<std::byte> dst,
            std::span<const std::span<const std::byte>> sources);

/// A node of the tree: it covers lanes [index << level, (index + 1) << level).
struct TreeNode {
  std::size_t level = 0;
  std::size_t index = 0;
  auto operator<=>(const TreeNode&) const = default;
};

/// Reduces lanes as they arrive, in any order. Nodes whose halves are present are combined at once,
/// so that n lanes in order hold at most log2(n) + 1 nodes. Several threads may add.
class TreeReduction {
 public:
  TreeReduction(Reduction reduction, std::size_t num_lanes)
      : reduction_(reduction), num_lanes_(num_lanes) {}

  /// @pre every node gets arrays of the same types
  void add(TreeNode node, std::vector<Array> arrays) { add(node, Entry{std::move(arrays), {}}); }
  /// For arrays that are not shared: partial results may overwrite their memory.
  void add(TreeNode node, std::vector<ArrayDraft> arrays);
  void add_lane(std::size_t lane, std::vector<Array> arrays) { add({0, lane}, std::move(arrays)); }

  /// The nodes that could not be combined further.
  [[nodiscard]] std::map<TreeNode, std::vector<Array>> nodes() const;
  /// @pre every lane has been added
  [[nodiscard]] std::vector<Array> result() const;

 private:
  /// `own` is the writable memory of arrays that are not shared; only that is overwritten.
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
