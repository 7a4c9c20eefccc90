// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/mapping/search.h"

#include <algorithm>
#include <optional>
#include <utility>

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
        objective_(objective),
        orders_(orders),
        best_(best),
        divisors_(machine.choice.temporal) {
    if (best_)
      best_cost_ = cost_of(objective_, best_->evaluation.energy_pj, best_->evaluation.cycles);
  }

  void run() {
    const std::size_t count = machine_.memories.size();
    if (!fits_outermost() || !may_be_best(machine_.fixed_pj, machine_.compute_cycles)) return;
    tilings_.resize(count);
    rest_.resize(count + 1);
    rest_[count] = {0, machine_.compute_cycles};
    for (std::size_t i = count - 1; i > 0; --i) {
      tilings_[i] =
          tilings_of(machine_, machine_.memories[i], divisors_, objective_ == Objective::kTime);
      if (tilings_[i].empty()) return;
      rest_[i] = rest_[i + 1];
      add_rest(tilings_[i], rest_[i]);
    }
    Node root;
    root.cycles = machine_.fixed_cycles;
    root.pj = machine_.fixed_pj;
    for (std::size_t d = 0; d < kMaxDimensions; ++d) {
      root.indices[d] = static_cast<std::uint16_t>(divisors_.of(d).size() - 1);
    }
    orders_of_memories_.resize(count);
    expand(root, 1);
  }

 private:
  /// Tiles down to a memory, and what they cost.
  struct Node {
    std::array<std::uint16_t, kMaxDimensions> indices{};
    double pj = 0;
    std::vector<double> cycles;  ///< of each level
    std::vector<NestLoop> loops;
  };
  struct Bound {
    double pj = 0;
    double cycles = 0;
  };

  [[nodiscard]] bool fits_outermost() const {
    const Level& level = machine_.hierarchy.levels[0];
    const LevelLoops all{{}, {}, level.keeps};
    return level.capacity_bits == 0 ||
           tile_bits(machine_.problem, level, all, machine_.choice.extents) <= level.capacity_bits;
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
    const double cycles_so_far = *std::max_element(node.cycles.begin(), node.cycles.end());
    const Bound& rest = rest_[i + 1];
    const double cycles = std::max(cycles_so_far, rest.cycles);
    for (const Tiling& tiling : tilings_[i]) {
      const double pj = node.pj + tiling.min_pj + rest.pj;
      if (!may_be_best(pj, std::max(cycles, tiling.min_cycles))) {
        // Tilings are sorted, so that no later one is better, unless cycles so far hide their
        // order.
        if (objective_ != Objective::kTime || tiling.min_cycles >= cycles) {
          if (!may_be_best(pj, objective_ == Objective::kTime ? tiling.min_cycles : cycles)) return;
        }
        continue;
      }
      try_tiling(node, tiling, i);
    }
  }

  void try_tiling(const Node& node, const Tiling& tiling, std::size_t i) {
    unsigned mask = 0;
    const std::size_t dimensions = machine_.problem.dimensions.size();
    for (std::size_t d = 0; d < dimensions; ++d) {
      if (!divisors_.divides(d, tiling.indices[d], node.indices[d])) return;
      if (tiling.indices[d] != node.indices[d]) mask |= 1U << d;
    }
    Extents tile = machine_.memories[i].spatial;
    for (std::size_t d = 0; d < dimensions; ++d) tile[d] *= divisors_.of(d)[tiling.indices[d]];
    for (const LoopOrder& order : orders_.of(mask)) {
      Node next = node;
      next.indices = tiling.indices;
      for (const std::size_t d : order) {
        const std::vector<std::uint64_t>& values = divisors_.of(d);
        next.loops.push_back({d, values[node.indices[d]] / values[tiling.indices[d]], false});
      }
      const auto& fan_out = machine_.memories[i].fan_out;
      next.loops.insert(next.loops.end(), fan_out.begin(), fan_out.end());
      add_links(next, machine_.memories[i], tile);
      const Bound& rest = rest_[i + 1];
      const double cycles = *std::max_element(next.cycles.begin(), next.cycles.end());
      if (!may_be_best(next.pj + rest.pj, std::max(cycles, rest.cycles))) continue;
      orders_of_memories_[i - 1] = {order, node.indices, tiling.indices};
      expand(next, i + 1);
    }
  }

  void add_links(Node& node, const Memory& memory, const Extents& tile) const {
    for (const Link& link : memory.links) {
      const Crossing words = crossing(machine_.problem.data_spaces[link.space], tile, node.loops);
      node.pj += static_cast<double>(words.down) * link.pj_down +
                 static_cast<double>(words.up) * link.pj_up;
      node.cycles[link.parent] += static_cast<double>(words.down + words.up) * link.cycles;
    }
  }

  /// All tiles are chosen. The order of the innermost loops does not matter.
  void finish(const Node& node) {
    LoopOrder order;
    for (std::size_t d = 0; d < machine_.problem.dimensions.size(); ++d) {
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

  struct LoopsOfMemory {
    LoopOrder order;
    std::array<std::uint16_t, kMaxDimensions> outside{};
    std::array<std::uint16_t, kMaxDimensions> inside{};
  };

  const Machine& machine_;
  Objective objective_;
  LoopOrders& orders_;
  std::optional<FoundMapping>& best_;
  Cost best_cost_;
  Divisors divisors_;
  std::vector<std::vector<Tiling>> tilings_;  ///< of each memory
  std::vector<Bound> rest_;                   ///< least costs of each memory and those inside
  std::vector<LoopsOfMemory> orders_of_memories_;
};

}  // namespace

FoundMapping find_mapping(const Problem& problem, const Hierarchy& hierarchy,
                          const SearchOptions& options) {
  check(problem, hierarchy);
  LoopOrders orders(problem);
  std::optional<FoundMapping> best;
  for (const SpatialChoice& choice : spatial_choices(problem, hierarchy, options.pads)) {
    const Problem padded = pad(problem, choice.extents);
    const Machine machine = make_machine(padded, hierarchy, choice);
    TemporalSearch(machine, options.objective, orders, best).run();
  }
  if (!best) {
    fail(ErrorKind::kShape,
         "no mapping fits: a level is too small for the data of the instances below it");
  }
  return std::move(*best);
}

}  // namespace halftone::accel::mapping
