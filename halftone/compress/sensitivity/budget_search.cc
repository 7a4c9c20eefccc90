// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/sensitivity/budget_search.h"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>

#include "halftone/base/error.h"
#include "halftone/compress/layers.h"
#include "halftone/compress/rule_codes.h"
#include "halftone/compress/screened_data.h"
#include "halftone/compress/sensitivity/loss_meter.h"
#include "halftone/compress/stage_networks.h"
#include "halftone/ir/extents_of.h"

namespace halftone::compress {
namespace {

/// What is beside weights and levels hardly depends on the choices.
constexpr int kMaxSizeCorrections = 8;
/// What a limit on loss or time may leave unused before another try.
constexpr double kSlack = 0.02;
/// Corrections that are looked at between two that were tried.
constexpr int kMaxBisections = 12;

Corrections between(const Corrections& a, const Corrections& b) {
  Corrections result;
  for (const Measure measure : kMeasures) {
    result.factor[measure] = (a.factor[measure] + b.factor[measure]) / 2;
    result.offset[measure] = (a.offset[measure] + b.offset[measure]) / 2;
  }
  return result;
}

class BudgetSearch {
 public:
  BudgetSearch(const ir::Graph& graph, const data::Dataset& data, const Recipe& recipe,
               const std::vector<LayerChoice>& choices, const SearchOptions& options)
      : graph_(graph), data_(data), recipe_(recipe), choices_(choices), options_(options) {}

  SearchResult run() {
    check_early();
    MeasureSettings how = options_.sensitivity;
    how.fit.progress = part_of(options_.sensitivity.fit.progress, 0, 0.7);
    result_.costs = sensitivity(graph_, data_, recipe_, choices_, how);
    for (const Excluded& each : excluded_) exclude(each);
    start_corrections();
    while (result_.tries.size() < options_.tries) {
      const std::optional<Allocation> next = next_allocation();
      if (!next) break;
      try_allocation(*next);
      if (!is_wanting(result_.tries.back())) break;
    }
    check_met();
    if (options_.front > 0) {
      result_.front = pareto_front(result_.costs, corrections_, front_size(), options_.front);
    }
    return std::move(result_);
  }

 private:
  /// What the front has beside the loss.
  [[nodiscard]] Measure front_size() const {
    for (const Measure measure : {Measure::kTime, Measure::kEnergy, Measure::kInstructions}) {
      if (options_.budget[measure] && !options_.budget[Measure::kBytes]) return measure;
    }
    return Measure::kBytes;
  }

  /// The recipe with a choice for every layer that may change.
  [[nodiscard]] Recipe recipe_of(const std::vector<std::size_t>& choices) const {
    Recipe recipe = recipe_;
    for (std::size_t u = 0; u < choices.size(); ++u) {
      const SensitiveUnit& unit = result_.costs.units[u];
      for (const std::size_t layer : unit.layers) {
        if (!unit.may_change) continue;
        recipe.overrides.push_back(
            override_for(recipe_, result_.costs.layers[layer].name, choices_[choices[u]]));
      }
    }
    return recipe;
  }

  struct Excluded {
    std::size_t unit = 0;
    std::size_t choice = 0;
  };

  void exclude(const Excluded& each) {
    result_.costs.choices[each.choice].units[each.unit].is_possible = false;
  }

  [[nodiscard]] bool is_above_peak(double peak) const { return peak > options_.peak_limit; }

  [[nodiscard]] double peak_of(const std::vector<std::size_t>& choices) const {
    return options_.peak(with_rule_codes(graph_, recipe_of(choices)));
  }

  /// Finds the choice that has the least peak in all units, and what cannot stand beside it.
  void exclude_by_peak() {
    if (!options_.peak) return;
    const std::size_t num_units = sizes_.units.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t c = 0; c < choices_.size(); ++c) {
      const double peak = peak_of(std::vector<std::size_t>(num_units, c));
      if (peak < least) std::tie(least, smallest_) = std::pair(peak, c);
    }
    for (std::size_t u = 0; u < num_units; ++u) {
      for (std::size_t c = 0; c < choices_.size(); ++c) {
        std::vector<std::size_t> one(num_units, smallest_);
        one[u] = c;
        const bool is_free = sizes_.units[u].may_change && c != smallest_;
        if (is_free && is_above_peak(peak_of(one))) excluded_.push_back({u, c});
      }
    }
    for (const Excluded& each : excluded_) exclude(each);
  }

  /// Excludes a choice of an allocation whose peak is above the limit.
  /// @return false if its peak is within it, or nothing lowers it
  bool exclude_one(const std::vector<std::size_t>& choices) {
    double least = options_.peak ? peak_of(choices) : 0;
    if (!options_.peak || !is_above_peak(least)) return false;
    std::optional<Excluded> found;
    for (std::size_t u = 0; u < choices.size(); ++u) {
      if (!result_.costs.units[u].may_change || choices[u] == smallest_) continue;
      std::vector<std::size_t> other = choices;
      other[u] = smallest_;
      const double peak = peak_of(other);
      if (found && peak >= least) continue;
      least = peak;
      found = {u, choices[u]};
    }
    if (found) exclude(*found);
    return found.has_value();
  }

  /// What the file has beside weights and levels: known by rule.
  [[nodiscard]] double bytes_beside(const std::vector<std::size_t>& choices) const {
    return options_.file_bytes(with_rule_codes(graph_, recipe_of(choices))) -
           predicted(sizes_, choices, {}).values[Measure::kBytes];
  }

  /// What can be said of the budget before anything is measured: sizes are known by rule, losses
  /// and times count as 0.
  void check_early() {
    sizes_ = sizes_by_rule(graph_, recipe_, choices_);
    result_.costs = sizes_;
    exclude_by_peak();
    for (ChoiceSensitivity& choice : result_.costs.choices) {
      if (!options_.sensitivity.costs) continue;
      choice.us = 0;
      choice.pj = 0;
      choice.instructions = 0;
    }
    if (options_.rule_costs) add_rule_costs();
    start_corrections();
    check_budget(result_.costs, options_.budget, corrections_);
    corrections_ = {};
  }

  void add_rule_costs() {
    std::vector<std::string> names;
    for (const SensitiveLayer& layer : result_.costs.layers) names.push_back(layer.name);
    for (std::size_t c = 0; c < choices_.size(); ++c) {
      const std::vector<std::size_t> same(result_.costs.units.size(), c);
      add_costs(result_.costs.choices[c],
                options_.rule_costs(with_rule_codes(graph_, recipe_of(same)), names));
    }
  }

  /// What files and runs have beside their layers, from networks that have one choice.
  void start_corrections() {
    const Sensitivity& costs = result_.costs;
    const auto count = static_cast<double>(costs.choices.size());
    PerMeasure<double>& offset = corrections_.offset;
    for (std::size_t c = 0; c < costs.choices.size(); ++c) {
      const std::vector<std::size_t> same(costs.units.size(), c);
      const Allocation layers = predicted(costs, same, {});
      if (c == 0) offset[Measure::kBytes] = bytes_beside(same);
      const ChoiceSensitivity& choice = costs.choices[c];
      offset[Measure::kTime] += (choice.us.value_or(0) - layers.values[Measure::kTime]) / count;
      offset[Measure::kEnergy] += (choice.pj.value_or(0) - layers.values[Measure::kEnergy]) / count;
      offset[Measure::kInstructions] +=
          (choice.instructions.value_or(0) - layers.values[Measure::kInstructions]) / count;
    }
  }

  /// An allocation whose file is within the budget: the weights and levels of single layers have
  /// the bytes of their fits.
  Allocation sized_allocation() {
    const std::optional<double> limit = options_.budget[Measure::kBytes];
    for (int i = 0;; ++i) {
      Allocation next = allocate(result_.costs, options_.budget, corrections_);
      while (exclude_one(next.choices)) {
        next = allocate(result_.costs, options_.budget, corrections_);
      }
      if (!limit || i == kMaxSizeCorrections) return next;
      const double error = bytes_beside(next.choices) + missed_bytes_ - offset_of_bytes();
      if (next.values[Measure::kBytes] + error <= *limit && (error >= 0 || i > 0)) return next;
      corrections_.offset[Measure::kBytes] += error;
    }
  }

  [[nodiscard]] double offset_of_bytes() const { return corrections_.offset[Measure::kBytes]; }

  /// The earlier try of the same choices; null if there is none.
  [[nodiscard]] const TriedAllocation* tried(const Allocation& next) const {
    const auto found = std::ranges::find_if(result_.tries, [&](const TriedAllocation& done) {
      return done.predicted.choices == next.choices;
    });
    return found == result_.tries.end() ? nullptr : &*found;
  }

  /// What follows from the corrections by the last try. Sums may err once to one side and once to
  /// the other; where they give what was tried, corrections between those that gave a network
  /// within the budget and those that gave one beyond it are bisected.
  std::optional<Allocation> next_allocation() {
    for (int i = 0; i < kMaxBisections; ++i) {
      Allocation next = sized_allocation();
      const TriedAllocation* earlier = tried(next);
      if (earlier == nullptr) return next;
      keep_corrections(earlier->is_within);
      if (!within_ || !beyond_) break;
      corrections_ = between(*within_, *beyond_);
    }
    return std::nullopt;
  }

  /// @param is_within  whether they gave a network within the budget
  void keep_corrections(bool is_within) { (is_within ? within_ : beyond_) = corrections_; }

  void try_allocation(const Allocation& next) {
    const auto tries = static_cast<double>(options_.tries);
    const double begin = 0.7 + 0.3 * static_cast<double>(result_.tries.size()) / tries;
    QuantizeSettings how = options_.sensitivity.fit;
    how.progress = part_of(options_.sensitivity.fit.progress, begin, begin + 0.3 / tries);
    Recipe recipe = recipe_of(next.choices);
    QuantizedGraph quantized = quantize(graph_, data_, recipe, how);
    TriedAllocation done{next};
    measure(done, quantized.graph);
    done.is_within = is_within(done);
    keep_corrections(done.is_within);
    correct(done);
    if (result_.tries.empty() || is_better(done, result_.tries[result_.chosen])) {
      result_.chosen = result_.tries.size();
      result_.recipe = std::move(recipe);
      result_.quantized = std::move(quantized);
    }
    result_.tries.push_back(std::move(done));
  }

  /// The sum over stages, each with the float network's values before it.
  [[nodiscard]] double loss_of(const ir::Graph& network) const {
    const MeasureSettings& how = options_.sensitivity;
    const data::Dataset& samples = how.evaluation != nullptr ? *how.evaluation : data_;
    const std::vector<StageNetwork> stages = stage_networks(graph_, samples, how.fit.resize);
    const std::vector<ir::FittedStage> others = ir::fitted_stages(network);
    double loss = 0;
    for (std::size_t s = 0; s < stages.size(); ++s) {
      const StageNetwork& stage = stages[s];
      if (!stage.data || layer_names(stage.open.graph).empty()) continue;
      ir::Graph other = others.at(s).graph;
      if (s > 0) other = ir::with_extents_of(std::move(other), stage.graph, stage.open.graph);
      const LossMeter meter(stage.graph, *stage.data, loss_named(result_.costs.loss),
                            {how.fit.devices, v0::kRunBatch, stage.resize});
      loss += meter.loss(other);
    }
    return loss;
  }

  void measure(TriedAllocation& done, const ir::Graph& network) const {
    const MeasureSettings& how = options_.sensitivity;
    done.values[Measure::kLoss] = loss_of(network);
    done.values[Measure::kBytes] = options_.file_bytes(network);
    if (!how.costs) return;
    const RunCosts costs = how.costs(network, {});
    done.values[Measure::kTime] = costs.us;
    done.values[Measure::kEnergy] = costs.pj;
    done.values[Measure::kInstructions] = costs.instructions;
  }

  /// How much of the limits is used, the most of them.
  [[nodiscard]] double used(const TriedAllocation& done) const {
    double most = 0;
    for (const Measure measure : kMeasures) {
      const std::optional<double> limit = options_.budget[measure];
      if (limit) most = std::max(most, done.values[measure] / *limit);
    }
    return most;
  }

  [[nodiscard]] bool is_within(const TriedAllocation& done) const { return used(done) <= 1; }

  [[nodiscard]] double objective(const TriedAllocation& done) const {
    return done.values[objective_of(options_.budget)];
  }

  /// Within the budget before outside, then by the objective, or by what is used of the budget.
  [[nodiscard]] bool is_better(const TriedAllocation& a, const TriedAllocation& b) const {
    if (a.is_within != b.is_within) return a.is_within;
    return a.is_within ? objective(a) < objective(b) : used(a) < used(b);
  }

  /// Whether another try may be better: this one is beyond the budget, or sums of loss and time
  /// left more of a limit than they should.
  [[nodiscard]] bool is_wanting(const TriedAllocation& done) const {
    return !done.is_within || used(done) < 1 - kSlack;
  }

  /// Sums are to give what was measured: files have something beside layers, the rest has a
  /// factor.
  void correct(const TriedAllocation& done) {
    for (const Measure measure : kMeasures) {
      const double expected = done.predicted.values[measure];
      if (measure == Measure::kBytes) {
        missed_bytes_ += done.values[measure] - expected;
        corrections_.offset[measure] += done.values[measure] - expected;
      } else if (expected > 0 && done.values[measure] > 0) {
        const double factor = done.values[measure] / expected;
        corrections_.factor[measure] *= factor;
        corrections_.offset[measure] *= factor;
      }
    }
  }

  void check_met() const {
    const TriedAllocation& best = result_.tries[result_.chosen];
    if (best.is_within) return;
    std::ostringstream text;
    text.precision(4);
    text << "budget: no network within it was found in " << result_.tries.size()
         << (result_.tries.size() == 1 ? " try" : " tries") << "; the nearest has";
    for (const Measure measure : kMeasures) {
      if (!options_.budget[measure]) continue;
      text << " " << to_string(measure) << "=" << std::fixed << best.values[measure];
    }
    fail(ErrorKind::kUnsupported, text.str() + ": allow more, or offer other choices");
  }

  const ir::Graph& graph_;
  const data::Dataset& data_;
  const Recipe& recipe_;
  const std::vector<LayerChoice>& choices_;
  const SearchOptions& options_;
  Sensitivity sizes_;  ///< by rule
  Corrections corrections_;
  std::optional<Corrections> within_;  ///< those that gave a network within the budget
  std::optional<Corrections> beyond_;  ///< those that gave one beyond it
  std::vector<Excluded> excluded_;     ///< before measuring
  std::size_t smallest_ = 0;           ///< choice that has the least peak in all units
  double missed_bytes_ = 0;            ///< what files had beside their predictions
  SearchResult result_;
};

}  // namespace

SearchResult quantize_within(const ir::Graph& graph, const data::Dataset& data,
                             const Recipe& recipe, const std::vector<LayerChoice>& choices,
                             const SearchOptions& options) {
  const spmd::Devices& devices = options.sensitivity.fit.devices;
  const ir::Graph first = ir::fitted_stages(graph).front().graph;
  ScreenedData samples = screened(first, data, devices, options.sensitivity.fit.resize);
  SearchOptions how = options;
  std::optional<ScreenedData> evaluation;
  if (how.sensitivity.evaluation != nullptr) {
    evaluation =
        screened(first, *how.sensitivity.evaluation, devices, options.sensitivity.fit.resize);
    how.sensitivity.evaluation = &evaluation->data;
    std::ranges::move(evaluation->warnings, std::back_inserter(samples.warnings));
  }
  SearchResult result = BudgetSearch(graph, samples.data, recipe, choices, how).run();
  result.quantized.warnings = std::move(samples.warnings);
  return result;
}

}  // namespace halftone::compress
