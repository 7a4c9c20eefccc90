// SPDX-License-Identifier: Apache-2.0
// What collectives cost on more ranks than there are here.
#pragma once

#include <cstddef>
#include <span>

namespace halftone::spmd {

/// What lies between the begin and the end of a collective, on the rank that takes longest.
struct CostPath {
  double messages = 0;     ///< one after another
  double bytes = 0;        ///< in them
  double added_bytes = 0;  ///< of numbers that are added to others

  friend CostPath operator+(const CostPath& a, const CostPath& b) {
    return {a.messages + b.messages, a.bytes + b.bytes, a.added_bytes + b.added_bytes};
  }
};

/// A network in Hockney's model: a message of n bytes takes latency + n per_byte, whoever sends it
/// and whatever others send, and a rank may send one and receive one at a time.
/// Source: Hockney, The communication challenge for MPP, Parallel Computing 20 (1994), equation 1;
/// the term for additions as in Thakur, Rabenseifner, Gropp, Optimization of collective
/// communication operations in MPICH, IJHPCA 19 (2005), section 3.
struct Link {
  double latency_s = 0;
  double per_byte_s = 0;
  double per_added_byte_s = 0;

  [[nodiscard]] double seconds(const CostPath& path) const {
    return latency_s * path.messages + per_byte_s * path.bytes +
           per_added_byte_s * path.added_bytes;
  }
};

/// How ranks may come to one sum, or to all of something. With p ranks and L = ceil(log2 p):
///
///              messages   bytes           added bytes
///     ring     2 (p - 1)  2 n (p - 1) / p   n (p - 1) / p
///     tree     2 L        2 n L             n L
///     halving  2 L        2 n (p - 1) / p   n (p - 1) / p
///
/// for an all-reduce of n bytes; an all-gather is the second half, without additions. `halving` is
/// recursive halving and doubling; where p is no power of two, ranks above it hand their numbers to
/// one below and get the result back: 2 messages, 2 n bytes and n added bytes more.
/// Source: Thakur, Rabenseifner, Gropp 2005, sections 4.1 to 4.5.
enum class CollectiveAlgorithm { kRing, kTree, kHalving };

/// @param bytes  of what each rank has, and of the result
CostPath all_reduce_path(CollectiveAlgorithm algorithm, std::size_t ranks, double bytes);
/// @param bytes  of the result, to which each rank brings an equal share
CostPath all_gather_path(CollectiveAlgorithm algorithm, std::size_t ranks, double bytes);

/// psum() as this library carries it out over ranks with a lane each: they agree on what they do
/// (an all-gather of a few bytes, a tree), then each sends every other its share and gets the sum
/// of it back; small arrays are sent whole to all, in one step. The fixed order of the sum costs
/// no message; that messages go out one after another bounds what many ranks can do.
CostPath psum_path(std::size_t ranks, double bytes);

/// ppermute() as carried out here, of a rank that sends to one and receives from one.
CostPath ppermute_path(std::size_t ranks, double bytes);

struct CostSample {
  CostPath path;
  double seconds = 0;
};
/// The link that explains measurements best: least squares of (model / measured - 1), no number
/// below zero.
/// @throws Error kUsage if there are no samples, or a time is not positive
Link fit_link(std::span<const CostSample> samples);

}  // namespace halftone::spmd
