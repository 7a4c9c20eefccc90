// SPDX-License-Identifier: Apache-2.0
// Predicts the time of collectives on more ranks than are present.
#pragma once

#include <cstddef>
#include <span>

namespace halftone::spmd {

/// The critical path of a collective: the work of the rank that takes longest.
struct CostPath {
  double messages = 0;     ///< sent one after another
  double bytes = 0;        ///< in these messages
  double added_bytes = 0;  ///< of operands that are added

  friend CostPath operator+(const CostPath& a, const CostPath& b) {
    return {a.messages + b.messages, a.bytes + b.bytes, a.added_bytes + b.added_bytes};
  }
};

/// A network in Hockney's model: a message of n bytes takes latency + n per_byte, independent of
/// its sender and of other traffic. A rank can send one message and receive one at the same time.
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

/// Algorithms for an all-reduce or an all-gather. With p ranks and L = ceil(log2 p):
///
///              messages   bytes           added bytes
///     ring     2 (p - 1)  2 n (p - 1) / p   n (p - 1) / p
///     tree     2 L        2 n L             n L
///     halving  2 L        2 n (p - 1) / p   n (p - 1) / p
///
/// for an all-reduce of n bytes; an all-gather is the second half, without additions. `halving` is
/// recursive halving and doubling. If p is not a power of two, each rank above the largest power of
/// two sends its values to a rank below and gets the result back: 2 messages, 2 n bytes and n added
/// bytes more.
/// Source: Thakur, Rabenseifner, Gropp 2005, sections 4.1 to 4.5.
enum class CollectiveAlgorithm { kRing, kTree, kHalving };

/// @param bytes  size of each rank's operand, and of the result
CostPath all_reduce_path(CollectiveAlgorithm algorithm, std::size_t ranks, double bytes);
/// @param bytes  size of the result, to which each rank contributes an equal share
CostPath all_gather_path(CollectiveAlgorithm algorithm, std::size_t ranks, double bytes);

/// psum() as implemented here, over ranks with one lane each. The ranks agree on the operation (an
/// all-gather of a few bytes, a tree); then each rank sends every other rank its share and gets the
/// sum of that share back. Small arrays are sent whole to all ranks, in one step. The fixed order
/// of the sum costs no message. Messages are sent one after another, which limits scaling.
CostPath psum_path(std::size_t ranks, double bytes);

/// ppermute() as implemented here, for a rank that sends to one rank and receives from one.
CostPath ppermute_path(std::size_t ranks, double bytes);

struct CostSample {
  CostPath path;
  double seconds = 0;
};
/// The link that fits the measurements best: least squares of (model / measured - 1), without
/// negative parameters.
/// @throws Error kUsage if there are no samples, or a time is not positive
Link fit_link(std::span<const CostSample> samples);

}  // namespace halftone::spmd
