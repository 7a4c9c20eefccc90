// SPDX-License-Identifier: Apache-2.0
// How a loop nest is cut into tiles, ordered, and spread over instances.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "halftone/accel/mapping/hierarchy.h"
#include "halftone/accel/mapping/problem.h"

namespace halftone::accel::mapping {

struct TemporalLoop {
  std::size_t dimension = 0;
  std::uint64_t bound = 1;
};

struct SpatialLoop {
  std::size_t dimension = 0;
  std::uint64_t bound = 1;
  std::size_t axis = 0;  ///< of the level's fan-out
};

/// The loops of one level. Spatial loops lie inside temporal loops.
struct LevelLoops {
  std::vector<TemporalLoop> temporal;  ///< outermost first
  std::vector<SpatialLoop> spatial;
  std::vector<bool> keeps;  ///< which data spaces have a tile here
};

/// Loops of each level, outermost first. A level's tile of a data space is what its own loops and
/// those further inside use. The bounds of a dimension multiply to its extent exactly: to divide
/// unevenly, `pad` the problem, so that the work on padding counts.
struct Mapping {
  std::vector<LevelLoops> levels;
};

/// The problem with larger extents. Strides of windows stay, so padding of outputs also pads
/// inputs.
/// @throws Error kShape if an extent is smaller than before
Problem pad(const Problem& problem, const Extents& extents);

/// Iterations of each dimension in the loops of `level` and further inside.
Extents extents_within(const Mapping& mapping, std::size_t level);

/// Bits of the tiles at a level, with their copies.
std::uint64_t tile_bits(const Problem& problem, const Level& level, const LevelLoops& loops,
                        const Extents& extents);

/// @throws Error kUsage if levels or loops do not belong to the problem and the hierarchy, or a
/// level keeps what it cannot; kShape if bounds do not multiply to the extents, tiles do not fit,
/// or there are more spatial instances than the hierarchy has. Also as check(problem, hierarchy).
void check(const Problem& problem, const Hierarchy& hierarchy, const Mapping& mapping);

}  // namespace halftone::accel::mapping
