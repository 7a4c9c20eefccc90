// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/tilings.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "halftone/base/error.h"

namespace halftone::accel::mapping {
namespace {

constexpr std::size_t kMaxTilings = std::size_t{1} << 18U;

/// Spatial loops of the levels from `begin` up to `end`, outermost first.
std::vector<NestLoop> spatial_loops(const SpatialChoice& choice, std::size_t begin,
                                    std::size_t end) {
  std::vector<NestLoop> loops;
  for (std::size_t l = begin; l < end; ++l) {
    for (const SpatialLoop& loop : choice.loops[l]) {
      loops.push_back({loop.dimension, loop.bound, true});
    }
  }
  return loops;
}

double num_instances(const SpatialChoice& choice, std::size_t level) {
  double instances = 1;
  for (const NestLoop& loop : spatial_loops(choice, 0, level)) {
    instances *= static_cast<double>(loop.bound);
  }
  return instances;
}

/// The next level outside `level` that keeps the data space.
std::size_t parent_level(const Hierarchy& hierarchy, std::size_t level, std::size_t space) {
  do {
    --level;
  } while (!hierarchy.levels[level].keeps[space]);
  return level;
}

/// The link from outside to `level`, which may be the MACs.
Link make_link(const Machine& machine, std::size_t level, std::size_t space) {
  const Problem& problem = machine.problem;
  const auto& levels = machine.hierarchy.levels;
  Link link;
  link.space = space;
  link.parent = parent_level(machine.hierarchy, level, space);
  const Level& parent = levels[link.parent];
  const auto distinct = static_cast<double>(
      spread(problem.data_spaces[space], spatial_loops(machine.choice, link.parent, level))
          .distinct);
  const double bits = static_cast<double>(parent.bits_of(problem, space)) * distinct;
  const double accesses =
      bits / static_cast<double>(parent.access_bits) * num_instances(machine.choice, link.parent);
  link.pj_down = accesses * parent.read_pj;
  link.pj_up = accesses * parent.update_pj;
  if (parent.bits_per_cycle > 0) link.cycles = bits / parent.bits_per_cycle;
  if (level < levels.size()) {
    link.pj_down += static_cast<double>(levels[level].bits_of(problem, space)) /
                    static_cast<double>(levels[level].access_bits) *
                    num_instances(machine.choice, level) * levels[level].write_pj;
  }
  return link;
}

void add_memories(Machine& machine) {
  const auto& levels = machine.hierarchy.levels;
  std::size_t previous = 0;
  for (std::size_t l = 0; l < levels.size(); ++l) {
    if (std::find(levels[l].keeps.begin(), levels[l].keeps.end(), true) == levels[l].keeps.end()) {
      continue;
    }
    Memory memory;
    memory.level = l;
    memory.fan_out = spatial_loops(machine.choice, previous, l);
    memory.spatial.fill(1);
    for (const NestLoop& loop : spatial_loops(machine.choice, l, levels.size())) {
      memory.spatial[loop.dimension] *= loop.bound;
    }
    for (std::size_t x = 0; l > 0 && x < levels[l].keeps.size(); ++x) {
      if (levels[l].keeps[x]) memory.links.push_back(make_link(machine, l, x));
    }
    machine.memories.push_back(memory);
    previous = l;
  }
}

/// What MACs exchange with memories does not depend on the temporal loops.
void add_macs(Machine& machine) {
  std::vector<NestLoop> loops;
  for (std::size_t d = 0; d < kMaxDimensions; ++d) {
    loops.push_back({d, machine.choice.temporal[d], false});
  }
  const Hierarchy& hierarchy = machine.hierarchy;
  machine.fixed_cycles.assign(hierarchy.levels.size(), 0);
  machine.fixed_pj = static_cast<double>(machine.problem.macs()) * hierarchy.mac_pj;
  for (std::size_t x = 0; x < machine.problem.data_spaces.size(); ++x) {
    const Link link = make_link(machine, hierarchy.levels.size(), x);
    const Crossing words = mac_crossing(machine.problem.data_spaces[x], loops);
    machine.fixed_pj +=
        static_cast<double>(words.down) * link.pj_down + static_cast<double>(words.up) * link.pj_up;
    machine.fixed_cycles[link.parent] += static_cast<double>(words.down + words.up) * link.cycles;
  }
}

/// Enumerates the tilings of a memory.
class TilingList {
 public:
  TilingList(const Machine& machine, const Memory& memory, const Divisors& divisors)
      : machine_(machine), memory_(memory), divisors_(divisors), tile_(memory.spatial) {
    add_dimension(0);
  }

  std::vector<Tiling> take() { return std::move(tilings_); }

 private:
  void add_dimension(std::size_t d) {
    if (!fits()) return;
    if (d == machine_.problem.dimensions.size()) {
      if (tilings_.size() == kMaxTilings) {
        fail(ErrorKind::kShape, "level " + machine_.hierarchy.levels[memory_.level].name +
                                    ": more than 2^18 tilings fit; lower convolutions to matrix "
                                    "products");
      }
      set_bounds();
      tilings_.push_back(current_);
      return;
    }
    const std::vector<std::uint64_t>& divisors = divisors_.of(d);
    for (std::size_t i = 0; i < divisors.size(); ++i) {
      current_.indices[d] = static_cast<std::uint16_t>(i);
      tile_[d] = memory_.spatial[d] * divisors[i];
      add_dimension(d + 1);
    }
    tile_[d] = memory_.spatial[d];
  }

  [[nodiscard]] bool fits() const {
    const Level& level = machine_.hierarchy.levels[memory_.level];
    if (level.capacity_bits == 0) return true;
    std::uint64_t bits = 0;
    for (std::size_t x = 0; x < level.keeps.size(); ++x) {
      if (!level.keeps[x]) continue;
      bits +=
          tile_words(machine_.problem.data_spaces[x], tile_) * level.bits_of(machine_.problem, x);
    }
    return bits * level.copies <= level.capacity_bits;
  }

  /// The innermost temporal loop outside is over one dimension d. A data space that has d leaves no
  /// loop out; another at best all that it lacks. The best d for all of them gives the bounds.
  void set_bounds() {
    current_.min_pj = std::numeric_limits<double>::infinity();
    current_.min_cycles = current_.min_pj;
    bool any = false;
    for (std::size_t d = 0; d < machine_.problem.dimensions.size(); ++d) {
      if (outside(d) == 1) continue;
      any = true;
      add_bounds(d);
    }
    if (!any) add_bounds(0);
  }

  void add_bounds(std::size_t innermost) {
    double pj = 0;
    cycles_.assign(machine_.hierarchy.levels.size(), 0);
    for (const Link& link : memory_.links) {
      const Crossing words = best_crossing(machine_.problem.data_spaces[link.space], innermost);
      pj += static_cast<double>(words.down) * link.pj_down +
            static_cast<double>(words.up) * link.pj_up;
      cycles_[link.parent] += static_cast<double>(words.down + words.up) * link.cycles;
    }
    current_.min_pj = std::min(current_.min_pj, pj);
    double most = machine_.compute_cycles;
    for (std::size_t l = 0; l < cycles_.size(); ++l) {
      most = std::max(most, cycles_[l] + machine_.fixed_cycles[l]);
    }
    current_.min_cycles = std::min(current_.min_cycles, most);
  }

  [[nodiscard]] Crossing best_crossing(const DataSpace& space, std::size_t innermost) const {
    const bool leaves_out = !has_dimension(space, innermost);
    std::array<NestLoop, 2 * kMaxDimensions> loops{};
    std::size_t count = 0;
    const auto add = [&](std::size_t d) { loops[count++] = {d, outside(d), false}; };
    const std::size_t dimensions = machine_.problem.dimensions.size();
    for (std::size_t d = 0; d < dimensions; ++d) {
      if (d != innermost && (!leaves_out || has_dimension(space, d))) add(d);
    }
    add(innermost);
    for (const NestLoop& loop : memory_.fan_out) {
      if (count < loops.size()) loops[count++] = loop;
    }
    return crossing(space, tile_, std::span(loops).first(count));
  }

  [[nodiscard]] std::uint64_t outside(std::size_t d) const {
    return machine_.choice.temporal[d] / divisors_.of(d)[current_.indices[d]];
  }

  const Machine& machine_;
  const Memory& memory_;
  const Divisors& divisors_;
  Extents tile_;
  Tiling current_;
  std::vector<double> cycles_;
  std::vector<Tiling> tilings_;
};

}  // namespace

Machine make_machine(const Problem& padded, const Hierarchy& hierarchy,
                     const SpatialChoice& choice) {
  Machine machine{padded, hierarchy, choice, {}, 1, 0, {}, 0};
  for (const std::uint64_t iterations : choice.temporal) {
    machine.compute_cycles *= static_cast<double>(iterations);
  }
  add_memories(machine);
  add_macs(machine);
  for (std::size_t l = 0; l < hierarchy.levels.size(); ++l) {
    machine.leakage_pj += hierarchy.levels[l].leakage_pj * num_instances(choice, l);
  }
  return machine;
}

Divisors::Divisors(const Extents& iterations) {
  for (std::size_t d = 0; d < kMaxDimensions; ++d) {
    std::vector<std::uint64_t>& values = values_[d];
    for (std::uint64_t i = 1; i * i <= iterations[d]; ++i) {
      if (iterations[d] % i != 0) continue;
      values.push_back(i);
      if (i * i != iterations[d]) values.push_back(iterations[d] / i);
    }
    std::sort(values.begin(), values.end());
    for (const std::uint64_t multiple : values) {
      for (const std::uint64_t value : values) divides_[d].push_back(multiple % value == 0 ? 1 : 0);
    }
  }
}

std::vector<Tiling> tilings_of(const Machine& machine, const Memory& memory,
                               const Divisors& divisors, bool by_cycles) {
  std::vector<Tiling> tilings = TilingList(machine, memory, divisors).take();
  std::stable_sort(tilings.begin(), tilings.end(), [&](const Tiling& a, const Tiling& b) {
    return by_cycles ? std::tie(a.min_cycles, a.min_pj) < std::tie(b.min_cycles, b.min_pj)
                     : a.min_pj < b.min_pj;
  });
  return tilings;
}

}  // namespace halftone::accel::mapping
