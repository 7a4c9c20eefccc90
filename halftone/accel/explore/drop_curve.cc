// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <utility>

#include "halftone/accel/explore/sensitivity.h"

namespace halftone::accel {
namespace {

/// Neighbours with one drop: their mean.
struct Pool {
  double noise_sum;
  double drop_sum;
  double count;
  [[nodiscard]] Loss mean() const { return {noise_sum / count, drop_sum / count}; }
};

}  // namespace

DropCurve::DropCurve(std::vector<Loss> measured) {
  std::ranges::sort(measured, [](const Loss& a, const Loss& b) {
    return std::pair(a.noise, a.drop) < std::pair(b.noise, b.drop);
  });
  std::vector<Pool> pools;
  for (const Loss& each : measured) {
    Pool pool{each.noise, std::max(0.0, each.drop), 1};
    while (!pools.empty() && pools.back().mean().drop >= pool.mean().drop) {
      const Pool& last = pools.back();
      pool = {last.noise_sum + pool.noise_sum, last.drop_sum + pool.drop_sum,
              last.count + pool.count};
      pools.pop_back();
    }
    pools.push_back(pool);
  }
  points_.push_back({0, 0});
  for (const Pool& each : pools) {
    const Loss mean = each.mean();
    if (mean.noise > points_.back().noise) points_.push_back(mean);
  }
}

double DropCurve::drop(double noise) const {
  const auto above = std::ranges::upper_bound(points_, noise, {}, &Loss::noise);
  if (above == points_.begin()) return 0;
  const Loss& low = *std::prev(above);
  if (above != points_.end()) {
    return low.drop + (above->drop - low.drop) * (noise - low.noise) / (above->noise - low.noise);
  }
  return low.noise > 0 ? std::min(1.0, low.drop * noise / low.noise) : low.drop;
}

}  // namespace halftone::accel
