// SPDX-License-Identifier: Apache-2.0
// Partial mappings that need no further search. For the sources here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "halftone/accel/mapping/problem.h"
#include "halftone/accel/mapping/traffic.h"

namespace halftone::accel::mapping {

/// Loops down to a memory, as far as the traffic further inside depends on their order.
struct Reuse {
  /// Of each data space, the product of the innermost loops that it lacks.
  std::array<std::uint64_t, kMaxDataSpaces> left_out{};
  /// The innermost loop if it moves a window, and the instances that it steps over.
  std::size_t window = kMaxDimensions;
  std::uint64_t window_bound = 1;
  std::uint64_t window_step = 1;

  /// Whether no traffic further inside is less with the other loops, for equal tiles.
  [[nodiscard]] bool is_as_good_as(const Reuse& other) const;
};

/// @param loops         outermost first
/// @param window_mask   dimensions that move a window
Reuse reuse_of(const Problem& problem, std::span<const NestLoop> loops, unsigned window_mask);

/// The partial mappings seen so far, by their tile in one memory.
class Dominance {
 public:
  explicit Dominance(std::size_t num_tilings) : seen_(num_tilings) {}

  /// Whether one that was seen with this tile is at least as good. Otherwise remembers this one.
  bool is_dominated(std::size_t tiling, const Reuse& reuse, double pj,
                    std::span<const double> cycles);

 private:
  struct Partial {
    Reuse reuse;
    double pj;
    std::vector<double> cycles;
  };
  std::vector<std::vector<Partial>> seen_;
};

}  // namespace halftone::accel::mapping
