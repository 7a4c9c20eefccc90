// SPDX-License-Identifier: Apache-2.0
// Accesses, energy and time of a mapping, in closed form.
#pragma once

#include <cstdint>
#include <vector>

#include "halftone/accel/mapping/hierarchy.h"
#include "halftone/accel/mapping/mapping.h"
#include "halftone/accel/mapping/problem.h"

namespace halftone::accel::mapping {

/// What one instance of a level does with one data space, in words; all 0 if it is bypassed.
struct SpaceAccesses {
  std::uint64_t tile_words = 0;
  std::uint64_t reads = 0;    ///< by the next level inside that keeps the data space, or by MACs
  std::uint64_t fills = 0;    ///< from the next level outside that keeps it
  std::uint64_t updates = 0;  ///< sums from inside
  std::uint64_t temporal_reductions = 0;  ///< updates that continue a sum
  std::uint64_t spatial_reductions =
      0;  ///< additions of sums of several instances on their way here
  double energy_pj = 0;
};

struct LevelAccesses {
  std::vector<SpaceAccesses> spaces;
  std::uint64_t utilized_instances = 1;
  double leakage_pj = 0;   ///< of all utilized instances
  double energy_pj = 0;    ///< of all utilized instances, leakage included
  double busy_cycles = 0;  ///< for the words that it exchanges with the levels inside
  /// Of all instances, in words.
  [[nodiscard]] std::uint64_t total_reads(std::size_t space) const {
    return spaces[space].reads * utilized_instances;
  }
  [[nodiscard]] std::uint64_t total_fills(std::size_t space) const {
    return spaces[space].fills * utilized_instances;
  }
  [[nodiscard]] std::uint64_t total_updates(std::size_t space) const {
    return spaces[space].updates * utilized_instances;
  }
};

struct MappingCosts {
  std::vector<LevelAccesses> levels;
  std::uint64_t macs = 0;
  std::uint64_t utilized_macs = 1;   ///< instances
  std::uint64_t compute_cycles = 0;  ///< MACs of each instance
  double cycles = 0;                 ///< with the memory
  double utilization = 0;            ///< MACs / (compute cycles x MACs of the hierarchy)
  double mac_energy_pj = 0;          ///< of all MACs
  double energy_pj = 0;
};

/// Counts accesses and what follows from them. The words between two levels are those of
/// traffic.h. A level that fills several instances with the same data reads it once for all of
/// them; it adds their sums before it stores them. So with `distinct` of `children` instances that
/// hold different data,
///
///     reads = distinct fills of a child,  updates = distinct sums that leave a child,
///     energy = sum over data spaces of ceil(reads / b) read_pj + ceil(fills / b) write_pj
///              + ceil(updates / b) update_pj,  b = words of an access, for each instance;
///     cycles = max(compute cycles, (reads + updates) bits / bits_per_cycle of each level);
///     leakage = leakage_pj cycles, for each utilized instance.
///
/// Every memory fetches the next tile while it uses one; a memory that must hold both has copies =
/// 2. A finished tile leaves without a read of its level.
/// @throws Error as check(problem, hierarchy, mapping)
MappingCosts evaluate(const Problem& problem, const Hierarchy& hierarchy, const Mapping& mapping);

}  // namespace halftone::accel::mapping
