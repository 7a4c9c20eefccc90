// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/dominance.h"

#include <algorithm>
#include <functional>

namespace halftone::accel::mapping {
namespace {

/// Remembering more would cost more time than it saves.
constexpr std::size_t kMaxSeen = 16;

}  // namespace

bool Reuse::is_as_good_as(const Reuse& other) const {
  if (other.window != kMaxDimensions &&
      (other.window != window || other.window_bound != window_bound ||
       other.window_step != window_step)) {
    return false;
  }
  return std::ranges::equal(left_out, other.left_out, std::greater_equal<>());
}

Reuse reuse_of(const Problem& problem, std::span<const NestLoop> loops, unsigned window_mask) {
  Reuse reuse;
  for (std::size_t x = 0; x < problem.data_spaces.size(); ++x) {
    const unsigned mask = dimension_mask(problem.data_spaces[x]);
    reuse.left_out[x] = 1;
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      if (loop->is_spatial || loop->bound == 1) continue;
      if ((mask >> loop->dimension & 1U) != 0) break;
      reuse.left_out[x] *= loop->bound;
    }
  }
  const auto innermost = std::find_if(loops.rbegin(), loops.rend(), [](const NestLoop& loop) {
    return !loop.is_spatial && loop.bound > 1;
  });
  if (innermost == loops.rend() || (window_mask >> innermost->dimension & 1U) == 0) return reuse;
  reuse.window = innermost->dimension;
  reuse.window_bound = innermost->bound;
  for (auto loop = loops.rbegin(); loop != innermost; ++loop) {
    if (loop->dimension == reuse.window) reuse.window_step *= loop->bound;
  }
  return reuse;
}

bool Dominance::is_dominated(std::size_t tiling, const Reuse& reuse, double pj,
                             std::span<const double> cycles) {
  std::vector<Partial>& seen = seen_[tiling];
  for (const Partial& each : seen) {
    if (each.pj <= pj && each.reuse.is_as_good_as(reuse) &&
        std::ranges::equal(each.cycles, cycles, std::less_equal<>())) {
      return true;
    }
  }
  if (seen.size() < kMaxSeen) seen.push_back({reuse, pj, {cycles.begin(), cycles.end()}});
  return false;
}

}  // namespace halftone::accel::mapping
