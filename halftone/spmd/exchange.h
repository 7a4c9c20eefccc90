// SPDX-License-Identifier: Apache-2.0
// Arrays that travel between ranks, and sums over the lanes of several.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "halftone/spmd/reduction.h"
#include "halftone/spmd/transport.h"

namespace halftone::spmd::internal {

/// Less than this goes to every rank in one step, instead of to one that sums and passes it on.
inline constexpr std::size_t kWholeBytes = 16384;

/// Arrays on their way in both directions. Both sides list them in the same order.
class Post {
 public:
  explicit Post(Transport& transport) : transport_(transport) {}

  void send(std::size_t rank, Array array) {
    if (array.size() == 0) return;
    sent_.push_back({rank, array.bytes()});
    kept_.push_back(std::move(array));
  }
  void receive(std::size_t rank, std::span<std::byte> bytes) {
    if (!bytes.empty()) received_.push_back({rank, bytes});
  }
  /// An array that has its elements after exchange().
  ArrayDraft receive(std::size_t rank, ElementType element, const Shape& shape) {
    ArrayDraft result = draft(element, shape);
    receive(rank, result.bytes);
    return result;
  }
  void exchange() { transport_.exchange(sent_, received_); }

 private:
  Transport& transport_;
  std::vector<Array> kept_;
  std::vector<Parcel<const std::byte>> sent_;
  std::vector<Parcel<std::byte>> received_;
};

/// A part of an array, as a function of the array.
using Cut = std::function<Array(const Array&)>;
using Nodes = std::map<TreeNode, std::vector<Array>>;

/// The tree of a reduction whose lanes lie on several ranks. A rank adds up the nodes within its
/// own lanes and sends each of the others the part of them that the other is to reduce.
class RankReduction {
 public:
  /// @param ranks    that take part, this one among them, ascending
  /// @param rank_of  of each lane
  RankReduction(Transport& transport, Reduction reduction, std::vector<std::size_t> ranks,
                std::vector<std::size_t> rank_of);

  /// Reduces cuts of the leaves over all lanes; each rank gets its own.
  /// @param mine  nodes over the lanes of this rank
  /// @param like  arrays of the types of the leaves
  /// @param cuts  of each rank
  /// @return [cut][leaf], of this rank
  [[nodiscard]] std::vector<std::vector<Array>> reduce_cuts(
      const Nodes& mine, const std::vector<Array>& like,
      const std::map<std::size_t, std::vector<Cut>>& cuts) const;
  /// Reduces the leaves over all lanes, for every rank: each rank a share, which it passes on.
  [[nodiscard]] std::vector<Array> reduce_all(const Nodes& mine,
                                              const std::vector<Array>& like) const;

 private:
  [[nodiscard]] std::vector<TreeNode> nodes_of(std::size_t rank) const;

  Transport& transport_;
  Reduction reduction_;
  std::vector<std::size_t> ranks_;
  std::vector<std::size_t> rank_of_;
};

}  // namespace halftone::spmd::internal
