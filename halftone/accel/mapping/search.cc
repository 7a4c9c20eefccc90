// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/search.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "halftone/accel/mapping/dominance.h"
#include "halftone/accel/mapping/loop_orders.h"
#include "halftone/accel/mapping/spatial_choices.h"
#include "halftone/accel/mapping/tilings.h"
#include "halftone/base/error.h"

namespace halftone::accel::mapping {
namespace {

/// What the search minimises, the first number first.
using Cost = std::pair<double, double>;

Cost cost_of(Objective objective, double pj, double cycles) {
  if (objective == Objective::kTime) return {cycles, pj};
  if (objective == Objective::kEnergy) return {pj, cycles};
  return {pj * cycles, cycles};
}

/// Searches the temporal loops of one spatial choice, memory by memory from outside.
class TemporalSearch {
 public:
  TemporalSearch(const Machine& machine, Objective objective, LoopOrders& orders,
                 std::optional<FoundMapping>& best)
      : machine_(machine),
        num_dimensions_(machine.problem.dimensions.size()),
        objective_(objective),
        orders_(orders),
        best_(best),
        divisors_(machine.choice.temporal),
        orders_of_memories_(machine.memories.size()),
        cycles_(machine.memories.size(), machine.fixed_cycles) {
    if (!best_) return;
    best_cost_ = cost_of(objective_, best_->evaluation.energy_pj, best_->evaluation.cycles);
  }

  /// @return why no mapping fits; empty if some do, or none can be the best
  std::string run() {
    if (!may_be_best(machine_.fixed_pj, machine_.compute_cycles)) return "";
    const std::size_t count = machine_.memories.size();
    if (!fits(0, machine_.choice.extents)) return misfit(0, machine_.choice.extents);
    tilings_.resize(count);
    rest_.resize(count + 1);
    rest_[count] = {0, machine_.compute_cycles};
    for (std::size_t i = count - 1; i > 0; --i) {
      tilings_[i] =
          tilings_of(machine_, machine_.memories[i], divisors_, objective_ == Objective::kTime);
      if (tilings_[i].empty()) return misfit(i, machine_.memories[i].spatial);
      rest_[i] = rest_[i + 1];
      add_rest(tilings_[i], rest_[i]);
    }
    for (const std::vector<Tiling>& tilings : tilings_) dominance_.emplace_back(tilings.size());
    Node root;
    root.pj = machine_.fixed_pj;
    for (std::size_t d = 0; d < kMaxDimensions; ++d) {
      root.indices[d] = static_cast<std::uint16_t>(divisors_.of(d).size() - 1);
    }
    expand(root, 1);
    return "";
  }

 private:
  /// Tiles down to a memory. Their loops and cycles are in loops_ and cycles_.
  struct Node {
    std::array<std::uint16_t, kMaxDimensions> indices{};
    double pj = 0;
  };
  struct Bound {
    double pj = 0;
    double cycles = 0;
  };
  struct LoopsOfMemory {
    LoopOrder order;
    std::array<std::uint16_t, kMaxDimensions> outside{};
    std::array<std::uint16_t, kMaxDimensions> inside{};
  };

  [[nodiscard]] const Level& level_of(std::size_t i) const {
    return machine_.hierarchy.levels[machine_.memories[i].level];
  }
  [[nodiscard]] std::uint64_t bits_of(std::size_t i, const Extents& tile) const {
    const LevelLoops kept{{}, {}, level_of(i).keeps};
    return tile_bits(machine_.problem, level_of(i), kept, tile);
  }
  [[nodiscard]] bool fits(std::size_t i, const Extents& tile) const {
    return level_of(i).capacity_bits == 0 || bits_of(i, tile) <= level_of(i).capacity_bits;
  }
  [[nodiscard]] std::string misfit(std::size_t i, const Extents& tile) const {
    return "level " + level_of(i).name + ": the smallest tiles for the instances below it need " +
           std::to_string(bits_of(i, tile)) + " bits, it has " +
           std::to_string(level_of(i).capacity_bits);
  }

  static void add_rest(const std::vector<Tiling>& tilings, Bound& rest) {
    const auto less_pj = [](const Tiling& a, const Tiling& b) { return a.min_pj < b.min_pj; };
    rest.pj += std::min_element(tilings.begin(), tilings.end(), less_pj)->min_pj;
    const auto fewer = [](const Tiling& a, const Tiling& b) { return a.min_cycles < b.min_cycles; };
    rest.cycles =
        std::max(rest.cycles, std::min_element(tilings.begin(), tilings.end(), fewer)->min_cycles);
  }

  /// Whether a mapping with at least this energy, without leakage, and these cycles may be better.
  /// Bounds are sums in another order than those of evaluate(), hence the tolerance.
  [[nodiscard]] bool may_be_best(double pj, double cycles) const {
    constexpr double kTolerance = 1e-12;
    if (!best_) return true;
    const Cost cost = cost_of(objective_, pj + machine_.leakage_pj * cycles, cycles);
    if (cost.first < best_cost_.first * (1 - kTolerance)) return true;
    return cost.first <= best_cost_.first * (1 + kTolerance) &&
           cost.second < best_cost_.second * (1 - kTolerance);
  }

  /// Chooses the tile of memory i and the order of the loops of the memory before it.
  void expand(const Node& node, std::size_t i) {
    if (i == machine_.memories.size()) {
      finish(node);
      return;
    }
    const Bound& rest = rest_[i + 1];
    const double cycles = std::max(*std::ranges::max_element(cycles_[i - 1]), rest.cycles);
    const bool by_cycles = objective_ == Objective::kTime;
    for (std::size_t t = 0; t < tilings_[i].size(); ++t) {
      const Tiling& tiling = tilings_[i][t];
      const double pj = node.pj + tiling.min_pj + rest.pj;
      if (may_be_best(pj, std::max(cycles, tiling.min_cycles))) {
        try_tiling(node, i, t);
        continue;
      }
      // Tilings are sorted, so that no later one is better, unless the cycles so far hide it.
      if (by_cycles && tiling.min_cycles < cycles) continue;
      if (!may_be_best(pj, by_cycles ? tiling.min_cycles : cycles)) return;
    }
  }

  void try_tiling(const Node& node, std::size_t i, std::size_t t) {
    const Tiling& tiling = tilings_[i][t];
    unsigned mask = 0;
    for (std::size_t d = 0; d < num_dimensions_; ++d) {
      if (!divisors_.divides(d, tiling.indices[d], node.indices[d])) return;
      if (tiling.indices[d] != node.indices[d]) mask |= 1U << d;
    }
    const Memory& memory = machine_.memories[i];
    const std::size_t num_loops = loops_.size();
    for (const LoopOrder& order : orders_.of(mask)) {
      for (const std::size_t d : order) {
        const std::vector<std::uint64_t>& values = divisors_.of(d);
        loops_.push_back({d, values[node.indices[d]] / values[tiling.indices[d]], false});
      }
      loops_.insert(loops_.end(), memory.fan_out.begin(), memory.fan_out.end());
      const Node next{tiling.indices, node.pj + add_links(i, tiling)};
      if (is_promising(next, i, t)) {
        orders_of_memories_[i - 1] = {order, node.indices, tiling.indices};
        expand(next, i + 1);
      }
      loops_.resize(num_loops);
    }
  }

  [[nodiscard]] bool is_promising(const Node& node, std::size_t i, std::size_t t) {
    const Bound& rest = rest_[i + 1];
    const double cycles = std::max(*std::ranges::max_element(cycles_[i]), rest.cycles);
    if (!may_be_best(node.pj + rest.pj, cycles)) return false;
    // Few loops lead to the same tile of the first memory; after the last one nothing follows.
    if (i == 1 || i + 1 == machine_.memories.size()) return true;
    const Reuse reuse = reuse_of(machine_.problem, loops_, orders_.window_mask());
    return !dominance_[i].is_dominated(t, reuse, node.pj, cycles_[i]);
  }

  /// Sets the cycles down to memory i.
  /// @return the energy of its links
  double add_links(std::size_t i, const Tiling& tiling) {
    Extents tile = machine_.memories[i].spatial;
    for (std::size_t d = 0; d < num_dimensions_; ++d) {
      tile[d] *= divisors_.of(d)[tiling.indices[d]];
    }
    cycles_[i] = cycles_[i - 1];
    double pj = 0;
    for (const Link& link : machine_.memories[i].links) {
      const Crossing words = crossing(machine_.problem.data_spaces[link.space], tile, loops_);
      pj += static_cast<double>(words.down) * link.pj_down +
            static_cast<double>(words.up) * link.pj_up;
      cycles_[i][link.parent] += static_cast<double>(words.down + words.up) * link.cycles;
    }
    return pj;
  }

  /// All tiles are chosen. The order of the innermost loops does not matter.
  void finish(const Node& node) {
    LoopOrder order;
    for (std::size_t d = 0; d < num_dimensions_; ++d) {
      if (node.indices[d] != 0) order.push_back(d);
    }
    orders_of_memories_.back() = {order, node.indices, {}};
    FoundMapping found{machine_.problem, mapping(), {}};
    found.evaluation = evaluate(found.problem, machine_.hierarchy, found.mapping);
    const Cost cost = cost_of(objective_, found.evaluation.energy_pj, found.evaluation.cycles);
    if (best_ && cost >= best_cost_) return;
    best_ = std::move(found);
    best_cost_ = cost;
  }

  [[nodiscard]] Mapping mapping() const {
    Mapping result;
    for (std::size_t l = 0; l < machine_.hierarchy.levels.size(); ++l) {
      result.levels.push_back({{}, machine_.choice.loops[l], machine_.hierarchy.levels[l].keeps});
    }
    for (std::size_t i = 0; i < machine_.memories.size(); ++i) {
      const LoopsOfMemory& loops = orders_of_memories_[i];
      for (const std::size_t d : loops.order) {
        const std::vector<std::uint64_t>& values = divisors_.of(d);
        result.levels[machine_.memories[i].level].temporal.push_back(
            {d, values[loops.outside[d]] / values[loops.inside[d]]});
      }
    }
    return result;
  }

  const Machine& machine_;
  std::size_t num_dimensions_;
  Objective objective_;
  LoopOrders& orders_;
  std::optional<FoundMapping>& best_;
  Cost best_cost_;
  Divisors divisors_;
  std::vector<std::vector<Tiling>> tilings_;  ///< of each memory
  std::vector<Bound> rest_;                   ///< least costs of each memory and those inside
  std::vector<Dominance> dominance_;          ///< of each memory
  std::vector<LoopsOfMemory> orders_of_memories_;
  std::vector<NestLoop> loops_;              ///< down to the memory that is being chosen
  std::vector<std::vector<double>> cycles_;  ///< of each level, with what each memory adds
};

}  // namespace

FoundMapping find_mapping(const Problem& problem, const Hierarchy& hierarchy,
                          const SearchOptions& options) {
  check(problem, hierarchy);
  LoopOrders orders(problem);
  std::optional<FoundMapping> best;
  std::string misfit;
  for (const SpatialChoice& choice : spatial_choices(problem, hierarchy, options.pads)) {
    const Problem padded = pad(problem, choice.extents);
    const Machine machine = make_machine(padded, hierarchy, choice);
    const std::string why = TemporalSearch(machine, options.objective, orders, best).run();
    if (misfit.empty()) misfit = why;
  }
  if (!best) fail(ErrorKind::kShape, "no mapping fits: " + misfit);
  return std::move(*best);
}

}  // namespace halftone::accel::mapping
