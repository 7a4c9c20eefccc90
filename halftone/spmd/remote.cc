// SPDX-License-Identifier: Apache-2.0
#include "halftone/spmd/remote.h"

#include <algorithm>
#include <map>

#include "halftone/spmd/exchange.h"

namespace halftone::spmd::internal {
namespace {

class RemoteMeeting {
 public:
  RemoteMeeting(Meeting& meeting, Transport& transport)
      : meeting_(meeting), request_(meeting.request), transport_(transport), me_(transport.rank()) {
    for (std::size_t p = 0; p < meeting.address.num_lanes; ++p) {
      rank_of_.push_back(meeting.address.rank_of(p));
      lanes_of_[rank_of_.back()].push_back(p);
    }
  }

  void carry_out() {
    switch (request_.operation) {
      case Operation::kReduce:
        meeting_.job.results = {reduction().reduce_all(my_nodes(), request_.leaves)};
        return divide_if_mean(meeting_.job.results.front());
      case Operation::kReduceScatter:
        return reduce_scatter();
      case Operation::kAllGather:
        return all_gather();
      case Operation::kAllToAll:
      case Operation::kPermute:
        return move_pieces();
    }
  }

 private:
  [[nodiscard]] std::size_t num_lanes() const { return rank_of_.size(); }
  [[nodiscard]] std::size_t num_leaves() const { return request_.leaves.size(); }
  [[nodiscard]] const std::vector<std::size_t>& my_lanes() const { return lanes_of_.at(me_); }

  [[nodiscard]] RankReduction reduction() const {
    std::vector<std::size_t> ranks;
    for (const auto& [rank, lanes] : lanes_of_) ranks.push_back(rank);
    return {transport_, request_.reduction, ranks, rank_of_};
  }

  [[nodiscard]] Nodes my_nodes() const {
    TreeReduction tree(request_.reduction, num_lanes());
    for (const std::size_t p : my_lanes()) tree.add_lane(p, meeting_.brought[p]);
    return tree.nodes();
  }

  void divide_if_mean(std::vector<Array>& leaves) const {
    for (Array& leaf : leaves) {
      if (!request_.mean) return;
      const ArrayDraft result = draft(leaf.element(), leaf.shape());
      std::copy(leaf.bytes().begin(), leaf.bytes().end(), result.bytes.begin());
      divide(leaf.element(), result.bytes, num_lanes());
      leaf = result.array;
    }
  }

  void reduce_scatter() {
    std::map<std::size_t, std::vector<Cut>> cuts;
    for (std::size_t p = 0; p < num_lanes(); ++p) {
      cuts[rank_of_[p]].emplace_back(
          [this, p](const Array& leaf) { return piece(request_, leaf, p, num_lanes()); });
    }
    auto mine = reduction().reduce_cuts(my_nodes(), request_.leaves, cuts);
    meeting_.job.results.resize(num_lanes());
    for (std::size_t i = 0; i < mine.size(); ++i) {
      meeting_.job.results[my_lanes()[i]] = std::move(mine[i]);
    }
  }

  void all_gather() {
    Post post(transport_);
    for (std::size_t p = 0; p < num_lanes(); ++p) {
      for (const Array& leaf : request_.leaves) {
        if (rank_of_[p] != me_) {
          meeting_.brought[p].push_back(
              post.receive(rank_of_[p], leaf.element(), leaf.shape()).array);
        }
      }
      if (rank_of_[p] != me_) continue;
      for (const auto& [rank, lanes] : lanes_of_) {
        for (const Array& leaf : meeting_.brought[p]) {
          if (rank != me_) post.send(rank, leaf);
        }
      }
    }
    post.exchange();
    work_on_all();
  }

  /// Runs the job as within one process, after all leaves have arrived.
  void work_on_all() {
    meeting_.job = make_job(request_, meeting_.brought);
    for (std::size_t piece = 0; piece < meeting_.job.num_pieces; ++piece) {
      meeting_.job.work(piece);
    }
  }

  /// Sends each piece directly to the rank of its lane.
  void move_pieces() {
    Post post(transport_);
    const std::size_t n = num_lanes();
    // Pieces [to][leaf], in the order of their sources.
    std::vector<std::vector<std::vector<Array>>> pieces(
        n, std::vector<std::vector<Array>>(num_leaves()));
    for (std::size_t to = 0; to < n; ++to) {
      for (const std::size_t from : sources(request_, to, n)) {
        for (std::size_t l = 0; l < num_leaves(); ++l) {
          if (rank_of_[from] == me_) {
            Array part = piece(request_, meeting_.brought[from][l], to, n);
            if (rank_of_[to] != me_) {
              post.send(rank_of_[to], std::move(part));
            } else {
              pieces[to][l].push_back(std::move(part));
            }
          } else if (rank_of_[to] == me_) {
            const Array like = piece(request_, request_.leaves[l], to, n);
            pieces[to][l].push_back(
                post.receive(rank_of_[from], like.element(), like.shape()).array);
          }
        }
      }
    }
    post.exchange();
    meeting_.job.results.resize(n);
    for (const std::size_t to : my_lanes()) {
      for (std::size_t l = 0; l < num_leaves(); ++l) {
        meeting_.job.results[to].push_back(
            put_together(request_, request_.leaves[l], pieces[to][l]));
      }
    }
  }

  Meeting& meeting_;
  const Request& request_;
  Transport& transport_;
  std::size_t me_;
  std::vector<std::size_t> rank_of_;                          ///< rank of each lane
  std::map<std::size_t, std::vector<std::size_t>> lanes_of_;  ///< lanes of each participating rank
};

}  // namespace

void carry_out_over_ranks(Meeting& meeting, Transport& transport) {
  RemoteMeeting(meeting, transport).carry_out();
}

}  // namespace halftone::spmd::internal
