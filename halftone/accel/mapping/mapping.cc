// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/mapping.h"

#include <algorithm>
#include <string>

#include "halftone/base/error.h"

namespace halftone::accel::mapping {
namespace {

constexpr std::uint64_t kMaxBits = std::uint64_t{1} << 62U;

std::string number(std::uint64_t value) { return std::to_string(value); }

void check_level(const Problem& problem, const Level& level) {
  const std::string where = "level " + level.name;
  const std::size_t spaces = problem.data_spaces.size();
  if (level.keeps.size() != spaces) {
    fail(ErrorKind::kUsage, where + ": expected " + number(spaces) + " entries in keeps, found " +
                                number(level.keeps.size()));
  }
  if (!level.word_bits.empty() && level.word_bits.size() != spaces) {
    fail(ErrorKind::kUsage, where + ": expected " + number(spaces) +
                                " entries in word_bits, found " + number(level.word_bits.size()));
  }
  if (level.access_bits == 0 || level.copies == 0 ||
      std::find(level.word_bits.begin(), level.word_bits.end(), 0U) != level.word_bits.end()) {
    fail(ErrorKind::kUsage, where + ": access_bits, copies and word_bits must be positive");
  }
  for (std::size_t x = 0; x < spaces; ++x) {
    if (level.bits_of(problem, x) >= kMaxBits / problem.macs()) {
      fail(ErrorKind::kShape, where + ": words of " + problem.data_spaces[x].name +
                                  " are too wide: bits times MACs must be less than 2^62");
    }
  }
  for (const FanOut& axis : level.fan_out) {
    if (axis.instances == 0) fail(ErrorKind::kUsage, where + ": a fan-out has 0 instances");
    for (const std::size_t d : axis.dimensions) {
      if (d >= problem.dimensions.size()) {
        fail(ErrorKind::kUsage,
             where + ": a fan-out names dimension " + number(d) + ", which the problem lacks");
      }
    }
  }
}

template <typename Loop>
void check_loop(const Problem& problem, const std::string& where, const Loop& loop) {
  if (loop.dimension >= problem.dimensions.size()) {
    fail(ErrorKind::kUsage, where + ": a loop names dimension " + number(loop.dimension) +
                                ", which the problem lacks");
  }
  if (loop.bound == 0) {
    fail(ErrorKind::kUsage,
         where + ": the loop over " + problem.dimensions[loop.dimension].name + " has bound 0");
  }
}

void check_spatial(const Problem& problem, const Level& level, const LevelLoops& loops) {
  const std::string where = "level " + level.name;
  std::vector<std::uint64_t> used(level.fan_out.size(), 1);
  for (const SpatialLoop& loop : loops.spatial) {
    check_loop(problem, where, loop);
    if (loop.axis >= level.fan_out.size()) {
      fail(ErrorKind::kUsage, where + ": a loop names axis " + number(loop.axis) +
                                  " of a fan-out with " + number(level.fan_out.size()) + " axes");
    }
    const FanOut& axis = level.fan_out[loop.axis];
    if (!axis.dimensions.empty() && std::find(axis.dimensions.begin(), axis.dimensions.end(),
                                              loop.dimension) == axis.dimensions.end()) {
      fail(ErrorKind::kUsage, where + ": axis " + number(loop.axis) + " does not take dimension " +
                                  problem.dimensions[loop.dimension].name);
    }
    used[loop.axis] *= loop.bound;
    if (used[loop.axis] > axis.instances) {
      fail(ErrorKind::kShape, where + ": axis " + number(loop.axis) + " has " +
                                  number(axis.instances) + " instances, the loops use " +
                                  number(used[loop.axis]));
    }
  }
}

void check_kept(const Problem& problem, const Level& level, const LevelLoops& loops) {
  const std::string where = "level " + level.name;
  if (loops.keeps.size() != problem.data_spaces.size()) {
    fail(ErrorKind::kUsage, where + ": the mapping has " + number(loops.keeps.size()) +
                                " entries in keeps, the problem " +
                                number(problem.data_spaces.size()) + " data spaces");
  }
  for (std::size_t x = 0; x < loops.keeps.size(); ++x) {
    if (loops.keeps[x] && !level.keeps[x]) {
      fail(ErrorKind::kUsage, where + " cannot keep " + problem.data_spaces[x].name);
    }
  }
}

void check_bounds(const Problem& problem, const Mapping& mapping) {
  const Extents extents = extents_within(mapping, 0);
  for (std::size_t d = 0; d < problem.dimensions.size(); ++d) {
    const Dimension& dimension = problem.dimensions[d];
    if (extents[d] != dimension.extent) {
      fail(ErrorKind::kShape, "mapping: the bounds of dimension " + dimension.name +
                                  " multiply to " + number(extents[d]) + ", its extent is " +
                                  number(dimension.extent));
    }
  }
}

}  // namespace

Problem pad(const Problem& problem, const Extents& extents) {
  Problem padded = problem;
  for (std::size_t d = 0; d < problem.dimensions.size(); ++d) {
    Dimension& dimension = padded.dimensions[d];
    if (extents[d] < dimension.extent) {
      fail(ErrorKind::kShape, "pad: dimension " + dimension.name + " has extent " +
                                  number(dimension.extent) + ", which is more than " +
                                  number(extents[d]));
    }
    dimension.extent = extents[d];
  }
  return padded;
}

Extents extents_within(const Mapping& mapping, std::size_t level) {
  Extents extents;
  extents.fill(1);
  for (std::size_t l = level; l < mapping.levels.size(); ++l) {
    for (const TemporalLoop& loop : mapping.levels[l].temporal) {
      extents[loop.dimension] *= loop.bound;
    }
    for (const SpatialLoop& loop : mapping.levels[l].spatial) {
      extents[loop.dimension] *= loop.bound;
    }
  }
  return extents;
}

std::uint64_t tile_bits(const Problem& problem, const Level& level, const LevelLoops& loops,
                        const Extents& extents) {
  std::uint64_t bits = 0;
  for (std::size_t x = 0; x < problem.data_spaces.size(); ++x) {
    if (loops.keeps[x]) {
      bits += tile_words(problem.data_spaces[x], extents) * level.bits_of(problem, x);
    }
  }
  return bits * level.copies;
}

void check(const Problem& problem, const Hierarchy& hierarchy) {
  check(problem);
  if (hierarchy.levels.empty()) fail(ErrorKind::kUsage, "hierarchy: expected a level, found none");
  for (const Level& level : hierarchy.levels) check_level(problem, level);
  const std::vector<bool>& outermost = hierarchy.levels[0].keeps;
  if (std::find(outermost.begin(), outermost.end(), false) != outermost.end()) {
    fail(ErrorKind::kUsage,
         "level " + hierarchy.levels[0].name + " is the outermost and must keep every data space");
  }
}

void check(const Problem& problem, const Hierarchy& hierarchy, const Mapping& mapping) {
  check(problem, hierarchy);
  if (mapping.levels.size() != hierarchy.levels.size()) {
    fail(ErrorKind::kUsage, "mapping: expected " + number(hierarchy.levels.size()) +
                                " levels, found " + number(mapping.levels.size()));
  }
  for (std::size_t l = 0; l < mapping.levels.size(); ++l) {
    const LevelLoops& loops = mapping.levels[l];
    check_kept(problem, hierarchy.levels[l], loops);
    check_spatial(problem, hierarchy.levels[l], loops);
    for (const TemporalLoop& loop : loops.temporal) {
      check_loop(problem, "level " + hierarchy.levels[l].name, loop);
    }
  }
  const std::vector<bool>& outermost = mapping.levels[0].keeps;
  if (std::find(outermost.begin(), outermost.end(), false) != outermost.end()) {
    fail(ErrorKind::kUsage, "mapping: the outermost level must keep every data space");
  }
  check_bounds(problem, mapping);
  for (std::size_t l = 0; l < mapping.levels.size(); ++l) {
    const Level& level = hierarchy.levels[l];
    if (level.capacity_bits == 0) continue;
    const std::uint64_t bits =
        tile_bits(problem, level, mapping.levels[l], extents_within(mapping, l));
    if (bits > level.capacity_bits) {
      fail(ErrorKind::kShape, "level " + level.name + ": its tiles need " + number(bits) +
                                  " bits, it has " + number(level.capacity_bits));
    }
  }
}

}  // namespace halftone::accel::mapping
