// SPDX-License-Identifier: Apache-2.0
// The levels of memory that a mapping distributes a loop nest over.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "halftone/accel/mapping/problem.h"

namespace halftone::accel::mapping {

/// One axis along which instances of the next level lie, as the rows of an array.
struct FanOut {
  std::uint64_t instances = 1;
  /// Dimensions whose iterations may be spread along it; none: all may.
  std::vector<std::size_t> dimensions;
};

/// A memory that holds tiles, or with nothing in `keeps` only a fan-out. All values are those of
/// one instance.
struct Level {
  std::string name;
  std::vector<bool> keeps;  ///< which data spaces it may hold; the others bypass it
  std::vector<FanOut> fan_out;

  std::uint64_t capacity_bits = 0;  ///< for tiles; 0: unlimited
  /// Copies of each tile that it holds: 2 if one is filled while another is used.
  std::uint64_t copies = 1;
  std::uint64_t access_bits = 1;         ///< that one access moves
  std::vector<std::uint64_t> word_bits;  ///< of each data space here; none: the data space's own
  double read_pj = 0;                    ///< of one access
  double write_pj = 0;                   ///< of one access that fills from the level outside
  double update_pj = 0;                  ///< of one access that stores sums from inside
  double leakage_pj = 0;                 ///< in each cycle
  double bits_per_cycle = 0;             ///< read by and received from inside; 0: unlimited

  [[nodiscard]] std::uint64_t bits_of(const Problem& problem, std::size_t space) const {
    return word_bits.empty() ? problem.data_spaces[space].word_bits : word_bits[space];
  }
  [[nodiscard]] std::uint64_t num_below() const {
    std::uint64_t instances = 1;
    for (const FanOut& axis : fan_out) instances *= axis.instances;
    return instances;
  }
};

/// Levels, outermost first, and MACs below the innermost: each computes one in a cycle. A level has
/// as many instances as the fan-outs above it have together.
struct Hierarchy {
  std::vector<Level> levels;
  double mac_pj = 0;

  [[nodiscard]] std::uint64_t num_macs() const {
    std::uint64_t instances = 1;
    for (const Level& level : levels) instances *= level.num_below();
    return instances;
  }
};

/// @throws Error kUsage if there is no level, the outermost bypasses a data space, lists have other
/// lengths than the problem, or a number that must be positive is 0; kShape if the bits of a word
/// times the MACs are 2^62 or more
void check(const Problem& problem, const Hierarchy& hierarchy);

}  // namespace halftone::accel::mapping
