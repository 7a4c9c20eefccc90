// SPDX-License-Identifier: Apache-2.0
#include "bench/scaling.h"

#include <algorithm>
#include <utility>

namespace halftone::bench {
namespace {

/// Share of the lanes on the rank that has the most.
double longest_share(const SharedWork& work, std::size_t ranks) {
  if (work.grows) return 1;
  const std::size_t most = (work.lanes + ranks - 1) / ranks;
  return static_cast<double>(most) / static_cast<double>(work.lanes);
}

double crowding(std::size_t ranks, const Cluster& cluster) {
  if (cluster.cores == 0) return 1;
  return std::max(1.0, static_cast<double>(ranks) / static_cast<double>(cluster.cores));
}

spmd::CostPath sum_path(std::size_t ranks, double bytes, bool halving) {
  return halving ? spmd::all_reduce_path(spmd::CollectiveAlgorithm::kHalving, ranks, bytes)
                 : spmd::psum_path(ranks, bytes);
}

}  // namespace

double sum_seconds(const SharedWork& work, std::size_t ranks, const Cluster& cluster) {
  double seconds = 0;
  for (const Sums& sums : work.sums) {
    seconds += sums.count * cluster.link.seconds(sum_path(ranks, sums.bytes, cluster.halving));
  }
  return seconds;
}

double predict_seconds(const SharedWork& work, std::size_t ranks, const Cluster& cluster) {
  const double own = work.alike_s + work.shared_s * longest_share(work, ranks);
  return work.startup_s + own * crowding(ranks, cluster) + sum_seconds(work, ranks, cluster);
}

double efficiency(const SharedWork& work, std::size_t ranks, const Cluster& cluster) {
  const double one = predict_seconds(work, 1, cluster) - work.startup_s;
  const double many = predict_seconds(work, ranks, cluster) - work.startup_s;
  return one / many / (work.grows ? 1 : static_cast<double>(ranks));
}

SharedWork with_times(SharedWork work, double one_s, double two_s, const Cluster& cluster) {
  const double saved = one_s - two_s + sum_seconds(work, 2, cluster);
  const double all = std::max(0.0, one_s - work.startup_s);
  work.shared_s = std::clamp(saved / (1 - longest_share(work, 2)), 0.0, all);
  work.alike_s = all - work.shared_s;
  return work;
}

}  // namespace halftone::bench
