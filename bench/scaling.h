// SPDX-License-Identifier: Apache-2.0
// Predicts run times on many machines.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/spmd/cost.h"

namespace halftone::bench {

/// All-reduce sums of one size, one after another.
struct Sums {
  double bytes = 0;
  double count = 1;
};

/// Work that ranks divide into lanes of equal length, followed by sums of the results.
struct SharedWork {
  std::string name;
  double startup_s = 0;  ///< start-up, the same for any number of ranks
  double alike_s = 0;    ///< work that every rank repeats
  double shared_s = 0;   ///< work that the ranks divide
  std::size_t lanes = 1;
  std::vector<Sums> sums{};
  bool grows = false;  ///< weak scaling: the number of lanes grows with the ranks
};

/// The machine or cluster that ranks run on.
struct Cluster {
  std::string name;
  spmd::Link link;
  std::size_t cores = 0;  ///< shared by all ranks; 0: each rank has its own
  bool halving = false;   ///< recursive halving and doubling instead of psum()'s algorithm
};

/// Seconds of the sums of a work.
double sum_seconds(const SharedWork& work, std::size_t ranks, const Cluster& cluster);
/// T(p) = startup + (alike + shared ceil(lanes / p) / lanes) crowding + sums, where crowding is
/// p / cores if there are more ranks than cores; lanes and shared p times as many if they grow.
double predict_seconds(const SharedWork& work, std::size_t ranks, const Cluster& cluster);
/// T(1) / (p T(p)) without the startup; of work that grows, T(1) / T(p).
double efficiency(const SharedWork& work, std::size_t ranks, const Cluster& cluster);
/// Computes the divided and the repeated work from the times of one and two ranks.
/// @param work  all but alike_s and shared_s; does not grow
SharedWork with_times(SharedWork work, double one_s, double two_s, const Cluster& cluster);

}  // namespace halftone::bench
