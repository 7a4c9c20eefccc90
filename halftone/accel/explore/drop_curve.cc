// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/drop_curve.h"

#include <algorithm>
#include <utility>

namespace halftone::accel {
namespace {

using compress::LossAndDrop;

/// Neighbours with one drop: their mean.
struct Pool {
  double noise_sum;
  double drop_sum;
  double count;
  [[nodiscard]] LossAndDrop mean() const { return {noise_sum / count, drop_sum / count}; }
};

}  // namespace

DropCurve::DropCurve(std::vector<LossAndDrop> measured) {
  std::ranges::sort(measured, [](const LossAndDrop& a, const LossAndDrop& b) {
    return std::pair(a.loss, a.drop) < std::pair(b.loss, b.drop);
  });
  std::vector<Pool> pools;
  for (const LossAndDrop& each : measured) {
    Pool pool{each.loss, std::max(0.0, each.drop), 1};
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
    const LossAndDrop mean = each.mean();
    if (mean.loss > points_.back().loss) points_.push_back(mean);
  }
}

double DropCurve::drop(double noise) const {
  const auto above = std::ranges::upper_bound(points_, noise, {}, &LossAndDrop::loss);
  if (above == points_.begin()) return 0;
  const LossAndDrop& low = *std::prev(above);
  if (above != points_.end()) {
    return low.drop + (above->drop - low.drop) * (noise - low.loss) / (above->loss - low.loss);
  }
  return low.loss > 0 ? std::min(1.0, low.drop * noise / low.loss) : low.drop;
}

}  // namespace halftone::accel
