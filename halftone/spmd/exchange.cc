// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/exchange.h"

#include <algorithm>

namespace halftone::spmd::internal {
namespace {

/// Elements [size k / n, size (k + 1) / n) of an array.
Array share_of(const Array& array, std::size_t k, std::size_t n) {
  const std::size_t begin = array.size() * k / n;
  const std::size_t end = array.size() * (k + 1) / n;
  return array.reshaped({static_cast<std::int64_t>(array.size())})
      .part(0, static_cast<std::int64_t>(begin), static_cast<std::int64_t>(end - begin));
}

std::vector<Array> cut_all(const std::vector<Array>& leaves, const Cut& cut) {
  std::vector<Array> result;
  for (const Array& leaf : leaves) result.push_back(cut(leaf));
  return result;
}

}  // namespace

RankReduction::RankReduction(Transport& transport, Reduction reduction,
                             std::vector<std::size_t> ranks, std::vector<std::size_t> rank_of)
    : transport_(transport),
      reduction_(reduction),
      ranks_(std::move(ranks)),
      rank_of_(std::move(rank_of)) {}

std::vector<TreeNode> RankReduction::nodes_of(std::size_t rank) const {
  TreeReduction tree(reduction_, rank_of_.size());
  for (std::size_t lane = 0; lane < rank_of_.size(); ++lane) {
    if (rank_of_[lane] == rank) tree.add_lane(lane, {});
  }
  std::vector<TreeNode> nodes;
  for (const auto& [node, nothing] : tree.nodes()) nodes.push_back(node);
  return nodes;
}

std::vector<std::vector<Array>> RankReduction::reduce_cuts(
    const Nodes& mine, const std::vector<Array>& like,
    const std::map<std::size_t, std::vector<Cut>>& cuts) const {
  const std::size_t me = transport_.rank();
  const std::vector<Cut>& my_cuts = cuts.at(me);
  std::vector<std::map<TreeNode, std::vector<ArrayDraft>>> pieces(my_cuts.size());
  Post post(transport_);
  for (const std::size_t rank : ranks_) {
    if (rank == me) continue;
    for (const auto& [node, leaves] : mine) {
      for (const Cut& cut : cuts.at(rank)) {
        for (Array& piece : cut_all(leaves, cut)) post.send(rank, std::move(piece));
      }
    }
    for (const TreeNode node : nodes_of(rank)) {
      for (std::size_t c = 0; c < my_cuts.size(); ++c) {
        for (const Array& piece : cut_all(like, my_cuts[c])) {
          pieces[c][node].push_back(post.receive(rank, piece.element(), piece.shape()));
        }
      }
    }
  }
  post.exchange();

  std::vector<std::vector<Array>> results;
  for (std::size_t c = 0; c < my_cuts.size(); ++c) {
    TreeReduction whole(reduction_, rank_of_.size());
    for (const auto& [node, leaves] : mine) whole.add(node, cut_all(leaves, my_cuts[c]));
    for (auto& [node, leaves] : pieces[c]) whole.add(node, std::move(leaves));
    results.push_back(whole.result());
  }
  return results;
}

std::vector<Array> RankReduction::reduce_all(const Nodes& mine,
                                             const std::vector<Array>& like) const {
  std::size_t num_bytes = 0;
  for (const Array& leaf : like) num_bytes += leaf.bytes().size();
  const std::size_t num_shares = num_bytes < kWholeBytes ? 1 : ranks_.size();
  std::map<std::size_t, std::vector<Cut>> cuts;
  for (std::size_t r = 0; r < ranks_.size(); ++r) {
    const std::size_t k = num_shares == 1 ? 0 : r;
    cuts[ranks_[r]] = {
        [k, num_shares](const Array& leaf) { return share_of(leaf, k, num_shares); }};
  }
  const std::vector<Array> shares = std::move(reduce_cuts(mine, like, cuts).front());
  std::vector<Array> results;
  Post post(transport_);
  for (std::size_t l = 0; l < like.size(); ++l) {
    if (num_shares == 1) {
      results.push_back(shares[l].reshaped(like[l].shape()));
      continue;
    }
    const ArrayDraft whole = draft(like[l].element(), like[l].shape());
    std::span<std::byte> rest = whole.bytes;
    for (const std::size_t rank : ranks_) {
      const std::span<std::byte> share = rest.first(cuts.at(rank).front()(like[l]).bytes().size());
      rest = rest.subspan(share.size());
      if (rank == transport_.rank()) {
        std::copy(shares[l].bytes().begin(), shares[l].bytes().end(), share.begin());
      } else {
        post.send(rank, shares[l]);
        post.receive(rank, share);
      }
    }
    results.push_back(whole.array);
  }
  post.exchange();
  return results;
}

}  // namespace halftone::spmd::internal
