// SPDX-License-Identifier: Apache-2.0
// How long work takes on more machines than there are.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "halftone/spmd/cost.h"

namespace halftone::bench {

/// Sums of one size that ranks make together, one after another.
struct Sums {
  double bytes = 0;
  double count = 1;
};

/// Work that ranks divide into lanes of equal length, summing what comes of them.
struct SharedWork {
  std::string name;
  double startup_s = 0;  ///< before anything begins; the same for any number of ranks
  double alike_s = 0;    ///< what every rank does alike
  double shared_s = 0;   ///< what they divide
  std::size_t lanes = 1;
  std::vector<Sums> sums{};
  bool grows = false;  ///< every rank adds as many lanes again: weak scaling
};

/// Where ranks run.
struct Cluster {
  std::string name;
  spmd::Link link;
  std::size_t cores = 0;  ///< that all ranks share; 0: each has one to itself
  bool halving = false;   ///< sums by recursive halving and doubling instead of psum()'s way
};

/// Seconds of the sums of a work.
double sum_seconds(const SharedWork& work, std::size_t ranks, const Cluster& cluster);
/// T(p) = startup + (alike + shared ceil(lanes / p) / lanes) crowding + sums, where crowding is
/// p / cores if there are more ranks than cores; lanes and shared p times as many if they grow.
double predict_seconds(const SharedWork& work, std::size_t ranks, const Cluster& cluster);
/// T(1) / (p T(p)) without the startup; of work that grows, T(1) / T(p).
double efficiency(const SharedWork& work, std::size_t ranks, const Cluster& cluster);
/// Tells apart what two ranks divide and what they do alike, from how long one and two took.
/// @param work  all but alike_s and shared_s; does not grow
SharedWork with_times(SharedWork work, double one_s, double two_s, const Cluster& cluster);

}  // namespace halftone::bench
