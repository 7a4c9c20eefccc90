// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/accesses.h"

#include <algorithm>
#include <span>

#include "halftone/accel/mapping/traffic.h"

namespace halftone::accel::mapping {
namespace {

struct Nest {
  std::vector<NestLoop> loops;      ///< of all levels, outermost first
  std::vector<std::size_t> begins;  ///< index of each level's first loop; at the end, of the MACs

  [[nodiscard]] std::span<const NestLoop> outside(std::size_t level) const {
    return std::span(loops).first(begins[level]);
  }
  [[nodiscard]] std::span<const NestLoop> between(std::size_t outer, std::size_t inner) const {
    return std::span(loops).subspan(begins[outer], begins[inner] - begins[outer]);
  }
};

Nest nest_of(const Mapping& mapping) {
  Nest nest;
  for (const LevelLoops& level : mapping.levels) {
    nest.begins.push_back(nest.loops.size());
    for (const TemporalLoop& loop : level.temporal) {
      nest.loops.push_back({loop.dimension, loop.bound, false});
    }
    for (const SpatialLoop& loop : level.spatial) {
      nest.loops.push_back({loop.dimension, loop.bound, true});
    }
  }
  nest.begins.push_back(nest.loops.size());
  return nest;
}

std::uint64_t num_instances(std::span<const NestLoop> outside) {
  std::uint64_t instances = 1;
  for (const NestLoop& loop : outside) instances *= loop.is_spatial ? loop.bound : 1;
  return instances;
}

/// Adds what crosses between level `outer` and the next level inside that keeps the data space.
void count_link(const Problem& problem, const Mapping& mapping, const Nest& nest, std::size_t x,
                std::vector<LevelAccesses>& levels) {
  const DataSpace& space = problem.data_spaces[x];
  const std::size_t macs = mapping.levels.size();
  std::size_t inner = macs;
  for (std::size_t outer = macs; outer-- > 0;) {
    if (!mapping.levels[outer].keeps[x]) continue;
    const Crossing words =
        inner == macs ? mac_crossing(space, nest.outside(macs))
                      : crossing(space, extents_within(mapping, inner), nest.outside(inner));
    const Spread instances = spread(space, nest.between(outer, inner));
    SpaceAccesses& parent = levels[outer].spaces[x];
    parent.tile_words = tile_words(space, extents_within(mapping, outer));
    parent.reads = words.down * instances.distinct;
    parent.updates = words.up * instances.distinct;
    parent.spatial_reductions = words.up * (instances.children - instances.distinct);
    if (space.is_output) parent.temporal_reductions = parent.reads;
    if (inner != macs) levels[inner].spaces[x].fills = words.down;
    inner = outer;
  }
}

void add_energy(const Problem& problem, const Level& level, LevelAccesses& accesses) {
  double bits_exchanged = 0;
  for (std::size_t x = 0; x < accesses.spaces.size(); ++x) {
    SpaceAccesses& space = accesses.spaces[x];
    const std::uint64_t bits = level.bits_of(problem, x);
    const auto count = [&](std::uint64_t words) {
      return static_cast<double>(num_accesses(words, bits, level.access_bits));
    };
    space.energy_pj = count(space.reads) * level.read_pj + count(space.fills) * level.write_pj +
                      count(space.updates) * level.update_pj;
    accesses.energy_pj += space.energy_pj * static_cast<double>(accesses.utilized_instances);
    bits_exchanged += static_cast<double>((space.reads + space.updates) * bits);
  }
  if (level.bits_per_cycle > 0) accesses.busy_cycles = bits_exchanged / level.bits_per_cycle;
}

/// Energy and time of the levels; counts are there.
void add_costs(const Problem& problem, const Hierarchy& hierarchy, const Nest& nest,
               MappingCosts& result) {
  result.cycles = static_cast<double>(result.compute_cycles);
  for (std::size_t l = 0; l < result.levels.size(); ++l) {
    LevelAccesses& level = result.levels[l];
    level.utilized_instances = num_instances(nest.outside(l));
    add_energy(problem, hierarchy.levels[l], level);
    result.cycles = std::max(result.cycles, level.busy_cycles);
  }
  result.mac_energy_pj = static_cast<double>(result.macs) * hierarchy.mac_pj;
  result.energy_pj = result.mac_energy_pj;
  for (std::size_t l = 0; l < result.levels.size(); ++l) {
    LevelAccesses& level = result.levels[l];
    level.leakage_pj = hierarchy.levels[l].leakage_pj *
                       static_cast<double>(level.utilized_instances) * result.cycles;
    level.energy_pj += level.leakage_pj;
    result.energy_pj += level.energy_pj;
  }
}

}  // namespace

MappingCosts evaluate(const Problem& problem, const Hierarchy& hierarchy, const Mapping& mapping) {
  check(problem, hierarchy, mapping);
  const Nest nest = nest_of(mapping);
  MappingCosts result;
  result.levels.resize(mapping.levels.size());
  for (LevelAccesses& level : result.levels) level.spaces.resize(problem.data_spaces.size());
  for (std::size_t x = 0; x < problem.data_spaces.size(); ++x) {
    count_link(problem, mapping, nest, x, result.levels);
  }
  result.macs = problem.macs();
  result.utilized_macs = num_instances(nest.loops);
  result.compute_cycles = result.macs / result.utilized_macs;
  result.utilization =
      static_cast<double>(result.macs) /
      (static_cast<double>(result.compute_cycles) * static_cast<double>(hierarchy.num_macs()));
  add_costs(problem, hierarchy, nest, result);
  return result;
}

}  // namespace halftone::accel::mapping
