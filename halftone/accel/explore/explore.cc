// SPDX-License-Identifier: Apache-2.0
#include "halftone/accel/explore/explore.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "halftone/accel/explore/drop_curve.h"
#include "halftone/accel/explore/layer_costs.h"
#include "halftone/base/error.h"
#include "halftone/base/parallel.h"
#include "halftone/compress/budget/nondominated.h"
#include "halftone/compress/budget/sum_front.h"

namespace halftone::accel {
namespace {

using compress::Criteria;
using compress::FrontProblem;
using compress::FrontSum;

constexpr double kInfinite = std::numeric_limits<double>::infinity();

/// What is the same for all hardware.
struct Search {
  const Space& space;
  const compress::Sensitivity& losses;
  const SearchSettings& options;
  std::vector<BitPair> pairs;                       ///< of any layer
  std::vector<std::vector<std::uint16_t>> allowed;  ///< for each layer, indices of pairs
  std::vector<std::size_t> items;                   ///< for each layer; tied ones are one item
  LayerWork work;
  DropCurve curve{{}};

  /// What a layer loses with the pair of this index.
  [[nodiscard]] compress::LossAndDrop loss(std::size_t layer, std::size_t pair) const {
    const compress::UnitSensitivity& found = losses.choices[pair].units[layer];
    return {found.loss, found.drop.value_or(0)};
  }

  /// Whether time and energy both decide.
  [[nodiscard]] bool needs_both() const {
    const Budget& budget = options.budget;
    switch (options.objective) {
      case Objective::kTime:
        return budget.energy_j.has_value();
      case Objective::kEnergy:
        return budget.seconds.has_value();
      case Objective::kEdp:
        break;
    }
    return true;
  }
};

std::vector<std::string> names_of(const compress::Sensitivity& losses) {
  std::vector<std::string> names;
  for (const compress::SensitiveLayer& each : losses.layers) names.push_back(each.name);
  return names;
}

Search search_over(const Space& space, const compress::Sensitivity& losses,
                   std::span<const Workload> by_pair, const SearchSettings& options) {
  const std::vector<std::string> names = names_of(losses);
  Search search{space, losses, options, space.pairs_of(names), {}, {}, LayerWork(by_pair, names)};
  std::vector<compress::LossAndDrop> measured;
  for (std::size_t layer = 0; layer < names.size(); ++layer) {
    std::vector<std::uint16_t> indices;
    for (const BitPair& pair : space.pairs_of(names[layer])) {
      const auto found = std::ranges::find(search.pairs, pair);
      indices.push_back(static_cast<std::uint16_t>(found - search.pairs.begin()));
      measured.push_back(search.loss(layer, indices.back()));
    }
    search.allowed.push_back(std::move(indices));
  }
  search.curve = DropCurve(std::move(measured));
  std::map<std::size_t, std::size_t> item_of;
  for (const std::size_t tie : space.ties_of(names)) {
    search.items.push_back(item_of.try_emplace(tie, item_of.size()).first->second);
  }
  return search;
}

/// Time or energy comes first, then noise, then the other one of the two if it counts.
Criteria criteria_of(const Search& search, const Cost& cost, double noise) {
  const bool energy_first = search.options.objective == Objective::kEnergy;
  const double first = energy_first ? cost.energy_j : cost.seconds;
  const double other = energy_first ? cost.seconds : cost.energy_j;
  return {first, noise, search.needs_both() ? other : 0};
}

/// What no unit computes has infinite cost, which exceeds every limit.
Criteria limits_of(const Search& search) {
  constexpr double kMax = std::numeric_limits<double>::max();
  const Budget& budget = search.options.budget;
  return criteria_of(search, {budget.seconds.value_or(kMax), budget.energy_j.value_or(kMax)},
                     kInfinite);
}

bool is_within(const Budget& budget, const Cost& cost) {
  return (!budget.seconds || cost.seconds <= *budget.seconds) &&
         (!budget.energy_j || cost.energy_j <= *budget.energy_j);
}

/// What a design is compared by.
Criteria front_criteria(const Design& design, Objective objective) {
  return {objective_of(design, objective), design.noise, design.area_mm2};
}

std::vector<Design> front_of(std::vector<Design> designs, Objective objective) {
  std::vector<Criteria> points;
  for (const Design& each : designs) points.push_back(front_criteria(each, objective));
  std::vector<Design> front;
  for (const std::size_t i : compress::nondominated(points)) front.push_back(std::move(designs[i]));
  return front;
}

/// One combination of parameters.
class HardwarePoint {
 public:
  HardwarePoint(const Search& search, std::size_t index)
      : search_(search),
        index_(index),
        accelerator_(search.space.hardware(index)),
        costs_(accelerator_, search.work, search.options.model) {}
  HardwarePoint(const HardwarePoint&) = delete;
  HardwarePoint& operator=(const HardwarePoint&) = delete;

  [[nodiscard]] bool is_within_area() const {
    const std::optional<double>& limit = search_.options.budget.area_mm2;
    return !limit || accelerator_.area_mm2 <= *limit;
  }

  /// Why it computes no design of the network; empty if it computes one.
  [[nodiscard]] const std::string& refusal() const { return refusal_; }

  /// Its own front.
  std::vector<Design> front() {
    std::vector<Design> designs;
    for (const FrontProblem& problem : problems()) {
      for (const FrontSum& each : compress::sum_front(problem)) add(each, designs);
    }
    return front_of(std::move(designs), search_.options.objective);
  }

 private:
  /// The distinct problems at the weights of each uniform network.
  std::vector<FrontProblem> problems() {
    std::set<double> weights;
    for (std::size_t pair = 0; pair < search_.pairs.size(); ++pair) {
      double sum = 0;
      for (std::size_t layer = 0; layer < search_.items.size(); ++layer) {
        sum += search_.work.weight_bytes(layer, pair);
      }
      weights.insert(sum);
    }
    std::vector<FrontProblem> list;
    for (const double bytes : weights) {
      FrontProblem problem = problem_with(bytes);
      const auto is_equal = [&](const FrontProblem& other) { return other.items == problem.items; };
      if (std::ranges::none_of(list, is_equal)) list.push_back(std::move(problem));
    }
    return list;
  }

  FrontProblem problem_with(double weight_bytes) {
    FrontProblem problem{{}, limits_of(search_)};
    problem.items.resize(1 + std::ranges::max(search_.items));
    for (std::size_t layer = 0; layer < search_.items.size(); ++layer) {
      std::vector<Criteria> options;
      for (const std::uint16_t pair : search_.allowed[layer]) {
        const std::optional<Cost> cost = costs_.cost(layer, pair, weight_bytes);
        const double noise = search_.loss(layer, pair).loss;
        options.push_back(criteria_of(search_, cost.value_or(Cost{kInfinite, kInfinite}), noise));
      }
      const bool is_refused =
          std::ranges::all_of(options, [](const Criteria& each) { return each[0] == kInfinite; });
      if (is_refused && refusal_.empty()) {
        refusal_ = "'" + search_.losses.layers[layer].name + "': " + costs_.refusal();
      }
      add(options, problem.items[search_.items[layer]]);
    }
    return problem;
  }

  /// Adds what a layer takes to the item that it belongs to.
  static void add(const std::vector<Criteria>& options, std::vector<Criteria>& item) {
    item.resize(options.size());
    for (std::size_t i = 0; i < item.size(); ++i) {
      for (std::size_t c = 0; c < item[i].size(); ++c) item[i][c] += options[i][c];
    }
  }

  void add(const FrontSum& sum, std::vector<Design>& designs) {
    std::vector<std::uint16_t> pairs;
    Design design{.hardware = index_, .area_mm2 = accelerator_.area_mm2};
    for (std::size_t layer = 0; layer < search_.items.size(); ++layer) {
      const std::uint16_t pair = search_.allowed[layer][sum.choices[search_.items[layer]]];
      pairs.push_back(pair);
      design.bits.push_back(search_.pairs[pair]);
    }
    const std::optional<Cost> cost = costs_.total(pairs);
    if (!cost || !is_within(search_.options.budget, *cost) || !costs_.has_room(pairs)) return;
    design.seconds = cost->seconds;
    design.energy_j = cost->energy_j;
    design.noise = sum.sums[1];
    design.drop = search_.curve.drop(design.noise);
    designs.push_back(std::move(design));
  }

  const Search& search_;
  std::size_t index_;
  Accelerator accelerator_;
  LayerCosts costs_;
  std::string refusal_;
};

/// What a combination of parameters adds.
struct PointResult {
  std::string refusal;
  std::vector<Design> front;
};

PointResult explored(const Search& search, std::size_t index) {
  HardwarePoint point(search, index);
  PointResult result;
  if (!point.is_within_area()) return result;
  result.front = point.front();
  result.refusal = point.refusal();
  return result;
}

[[noreturn]] void fail_empty(const std::string& refusal) {
  if (!refusal.empty()) {
    fail(ErrorKind::kUnsupported,
         "no hardware computes all layers with bits of the space: " + refusal);
  }
  fail(ErrorKind::kUnsupported,
       "no design is within the budget of time and energy and has room for the network: allow more "
       "or widen the space");
}

}  // namespace

double objective_of(const Design& design, Objective kind) {
  switch (kind) {
    case Objective::kTime:
      return design.seconds;
    case Objective::kEnergy:
      return design.energy_j;
    case Objective::kEdp:
      break;
  }
  return design.energy_j * design.seconds;
}

void check_hardware(const Space& space, const Budget& budget) {
  std::vector<char> is_within(space.num_hardware());
  parallel_for(is_within.size(), [&](std::size_t i) {
    is_within[i] = space.hardware(i).area_mm2 <= budget.area_mm2.value_or(kInfinite) ? 1 : 0;
  });
  if (std::ranges::find(is_within, 1) != is_within.end()) return;
  fail(ErrorKind::kUnsupported, "no hardware of the space has an area of at most " +
                                    fmt::format("{}", *budget.area_mm2) + " mm2: allow more area");
}

std::vector<const Design*> Exploration::ladder() const {
  std::vector<const Design*> steps;
  for (const Design& each : front) {
    if (steps.empty() || each.noise < steps.back()->noise) steps.push_back(&each);
  }
  return steps;
}

Exploration explore(const Space& space, const compress::Sensitivity& losses,
                    std::span<const Workload> by_pair, const SearchSettings& options) {
  constexpr std::size_t kBlock = 64;  // fronts that memory holds beside the common one
  check_hardware(space, options.budget);
  const Search search = search_over(space, losses, by_pair, options);
  Exploration result{.layers = names_of(losses)};
  result.num_hardware = space.num_hardware();
  std::string refusal;
  for (std::size_t first = 0; first < result.num_hardware; first += kBlock) {
    std::vector<PointResult> block(std::min(kBlock, result.num_hardware - first));
    parallel_for(block.size(), [&](std::size_t i) { block[i] = explored(search, first + i); });
    for (PointResult& each : block) {
      if (refusal.empty()) refusal = each.refusal;
      if (!each.front.empty()) ++result.num_within;
      std::ranges::move(each.front, std::back_inserter(result.front));
    }
    result.front = front_of(std::move(result.front), options.objective);
    if (options.progress) {
      options.progress(
          static_cast<double>(first + block.size()) / static_cast<double>(result.num_hardware),
          "exploring designs");
    }
  }
  if (result.front.empty()) fail_empty(refusal);
  result.num_designs = static_cast<double>(result.num_within);
  std::set<std::size_t> counted;
  for (std::size_t i = 0; i < search.items.size(); ++i) {
    const auto choices = static_cast<double>(search.allowed[i].size());
    if (counted.insert(search.items[i]).second) result.num_designs *= choices;
  }
  return result;
}

}  // namespace halftone::accel
