// SPDX-License-Identifier: Apache-2.0
// Sends arrays between ranks; reduces over the lanes of several ranks.
#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <span>
#include <utility>
#include <vector>

#include "halftone/spmd/reduction.h"
#include "halftone/spmd/transport.hpp"

namespace halftone::spmd::internal {

/// Smaller arrays are sent to every rank in one step; larger ones are reduced in shares, one per
/// rank, which are then passed on.
inline constexpr std::size_t kWholeBytes = 16384;

/// Arrays to send and to receive. Sender and receiver list them in the same order.
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
  /// An array whose elements are valid after exchange().
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

/// Returns a part of an array.
using Cut = std::function<Array(const Array&)>;
using Nodes = std::map<TreeNode, std::vector<Array>>;

/// The tree of a reduction whose lanes lie on several ranks. Each rank combines the nodes within
/// its own lanes, then sends every other rank the part of them that this other rank reduces.
class RankReduction {
 public:
  /// @param ranks    the ranks that take part, including this one, ascending
  /// @param rank_of  the rank of each lane
  RankReduction(Transport& transport, Reduction reduction, std::vector<std::size_t> ranks,
                std::vector<std::size_t> rank_of);

  /// Reduces cuts of the leaves over all lanes; each rank gets its own cuts.
  /// @param mine  nodes over the lanes of this rank
  /// @param like  arrays of the types of the leaves
  /// @param cuts  the cuts of each rank
  /// @return [cut][leaf], for the cuts of this rank
  [[nodiscard]] std::vector<std::vector<Array>> reduce_cuts(
      const Nodes& mine, const std::vector<Array>& like,
      const std::map<std::size_t, std::vector<Cut>>& cuts) const;
  /// Reduces the leaves over all lanes, for every rank. Each rank reduces a share and sends it to
  /// the others.
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
