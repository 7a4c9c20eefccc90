// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/spatial_choices.h"

#include <algorithm>
#include <numeric>

namespace halftone::accel::mapping {
namespace {

std::uint64_t ceil_div(std::uint64_t a, std::uint64_t b) { return (a + b - 1) / b; }

bool is_smooth(std::uint64_t n) {
  for (const std::uint64_t prime : {2U, 3U, 5U, 7U}) {
    while (n % prime == 0) n /= prime;
  }
  return n == 1;
}

/// Instances that share `extent` iterations.
std::uint64_t num_used(std::uint64_t extent, std::uint64_t instances, bool pads) {
  if (pads) return ceil_div(extent, ceil_div(extent, instances));
  std::uint64_t divisor = std::min(extent, instances);
  while (extent % divisor != 0) --divisor;
  return divisor;
}

class Chooser {
 public:
  Chooser(const Problem& problem, const Hierarchy& hierarchy, bool pads)
      : problem_(problem), hierarchy_(hierarchy), pads_(pads) {
    all_dimensions_.resize(problem.dimensions.size());
    std::iota(all_dimensions_.begin(), all_dimensions_.end(), std::size_t{0});
    current_.temporal = extents_of(problem);
    current_.loops.resize(hierarchy.levels.size());
    choose_axes(hierarchy.levels.size(), 0);
  }

  std::vector<SpatialChoice> take() { return std::move(choices_); }

 private:
  /// Chooses for `axis` of level `end - 1` and all that follow.
  void choose_axes(std::size_t end, std::size_t axis) {
    if (end == 0) {
      choose_padding(0);
      return;
    }
    const std::size_t l = end - 1;
    const Level& level = hierarchy_.levels[l];
    if (axis == level.fan_out.size()) {
      choose_axes(l, 0);
      return;
    }
    const FanOut& fan_out = level.fan_out[axis];
    bool none_chosen = false;
    for (const std::size_t d : fan_out.dimensions.empty() ? all_dimensions_ : fan_out.dimensions) {
      const std::uint64_t before = current_.temporal[d];
      const std::uint64_t used = num_used(before, fan_out.instances, pads_);
      if (used == 1) {
        if (!none_chosen) choose_axes(end, axis + 1);
        none_chosen = true;
        continue;
      }
      current_.temporal[d] = ceil_div(before, used);
      current_.loops[l].push_back({d, used, axis});
      choose_axes(end, axis + 1);
      current_.loops[l].pop_back();
      current_.temporal[d] = before;
    }
  }

  /// Chooses the padding of dimension d and all that follow.
  void choose_padding(std::size_t d) {
    if (d == problem_.dimensions.size()) {
      add();
      return;
    }
    choose_padding(d + 1);
    const std::uint64_t before = current_.temporal[d];
    if (!pads_ || is_smooth(before)) return;
    while (!is_smooth(current_.temporal[d])) ++current_.temporal[d];
    choose_padding(d + 1);
    current_.temporal[d] = before;
  }

  void add() {
    current_.extents = current_.temporal;
    for (const auto& loops : current_.loops) {
      for (const SpatialLoop& loop : loops) current_.extents[loop.dimension] *= loop.bound;
    }
    choices_.push_back(current_);
  }

  const Problem& problem_;
  const Hierarchy& hierarchy_;
  bool pads_;
  std::vector<std::size_t> all_dimensions_;
  SpatialChoice current_;
  std::vector<SpatialChoice> choices_;
};

std::uint64_t compute_cycles(const SpatialChoice& choice) {
  std::uint64_t cycles = 1;
  for (const std::uint64_t iterations : choice.temporal) cycles *= iterations;
  return cycles;
}

}  // namespace

std::vector<SpatialChoice> spatial_choices(const Problem& problem, const Hierarchy& hierarchy,
                                           bool pads) {
  std::vector<SpatialChoice> choices = Chooser(problem, hierarchy, pads).take();
  std::stable_sort(choices.begin(), choices.end(),
                   [](const SpatialChoice& a, const SpatialChoice& b) {
                     return compute_cycles(a) < compute_cycles(b);
                   });
  return choices;
}

}  // namespace halftone::accel::mapping
