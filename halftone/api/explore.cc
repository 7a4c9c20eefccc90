// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/explore.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "halftone/accel/explore/searched_layers.h"
#include "halftone/api/description.h"
#include "halftone/api/estimate.h"
#include "halftone/api/open_form.h"
#include "halftone/api/sensitivity_state.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"
#include "halftone/base/file_uses.h"
#include "halftone/compress/screened_data.h"
#include "halftone/data/hold_out.h"

namespace halftone {
namespace {

using accel::BitPair;
using accel::Design;
using accel::with_bits;

/// The network with the same pair in all layers, for each pair.
std::vector<accel::Workload> uniform_workloads(const Network& network, const ExploreSettings& job,
                                               const std::vector<std::string>& layers) {
  std::vector<accel::Workload> list;
  for (const BitPair& pair : job.space.pairs_of(layers)) {
    const std::vector<BitPair> bits(layers.size(), pair);
    list.push_back(
        workload_of(network, {.batch = job.batch, .recipe = with_bits(job.recipe, layers, bits)}));
  }
  return list;
}

/// Chooses which step of a ladder to verify next: the noise at which the drop would be the budget
/// if it were proportional, then between a design that keeps the budget and one that does not.
class LadderSearch {
 public:
  LadderSearch(const std::vector<const Design*>& ladder, double budget)
      : ladder_(ladder), budget_(budget), within_(ladder.size()) {}

  /// @param drop  measured for a step
  /// @return      the next step; nullopt if none can be better
  std::optional<std::size_t> next(std::size_t step, double drop) {
    if (drop <= budget_) {
      within_ = step;
    } else {
      first_ = step + 1;
    }
    if (first_ >= within_) return std::nullopt;
    const auto wanted = std::ranges::find_if(
        ladder_,
        [noise = wanted_noise(step, drop)](const Design* each) { return each->noise <= noise; });
    const auto found = static_cast<std::size_t>(wanted - ladder_.begin());
    return std::clamp(found, first_, within_ - 1);
  }

 private:
  [[nodiscard]] double wanted_noise(std::size_t step, double drop) const {
    constexpr double kMaxFactor = 4;
    const bool is_between = first_ > 0 && within_ < ladder_.size();
    if (is_between) return std::sqrt(ladder_[first_ - 1]->noise * ladder_[within_]->noise);
    const double factor = drop > 0 ? budget_ / drop : kMaxFactor;
    return ladder_[step]->noise * std::clamp(factor, 1 / kMaxFactor, kMaxFactor);
  }

  const std::vector<const Design*>& ladder_;
  double budget_;
  std::size_t first_ = 0;  ///< after the last step that does not keep the budget
  std::size_t within_;     ///< the first step that keeps it
};

std::string percent(double fraction) {
  std::string text = std::to_string(100 * fraction);
  text.resize(text.find('.') + 3);
  return text + " %";
}

constexpr std::size_t kHeldOutEvery = 4;

class Explorer {
 public:
  Explorer(const Network& network, const ExploreData<data::Dataset>& samples,
           const ExploreSettings& job)
      : job_(job),
        name_(network.name),
        sized_(prepared_for(network, samples.data, Purpose::kQuantize)),
        network_(std::move(sized_.graph), name_),
        has_evaluation_(samples.evaluation != nullptr),
        samples_(has_evaluation_ ? data::HeldOut{samples.data, *samples.evaluation}
                                 : data::hold_out(samples.data, kHeldOutEvery)),
        judged_(compress::with_masked_gaps(network_.graph, samples_.judged, job.devices,
                                           sized_.resize)),
        fit_{job.seed, job.options.progress, job.devices, job.memory_bytes, sized_.resize},
        meter_(network_.graph, judged_, compress::LossKind::kError,
               {job.devices, job.evaluation_batch, sized_.resize}) {}
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  ExploreReport run() {
    ExploreReport report{.network = name_, .options = job_.options};
    report.has_labels = samples_.judged.has_labels();
    report.fit_samples = samples_.fit.size();
    report.judged_samples = samples_.judged.size();
    report.judged_on = has_evaluation_
                           ? samples_.judged.name()
                           : "every " + std::to_string(kHeldOutEvery) + "th sample of " +
                                 samples_.judged.name() + ", which the fit did not see";
    accel::check_hardware(job_.space, job_.options.budget);
    const accel::SearchedLayers layers = accel::searched_layers(network_.graph, job_.recipe);
    accel::Space space = job_.space;
    space.ties.insert(space.ties.end(), layers.shared.begin(), layers.shared.end());
    static_cast<void>(space.ties_of(layers.names));  // mistakes are found before the long work
    const auto workloads = uniform_workloads(network_, job_, layers.names);
    report.sensitivities = measured(space, layers.names);
    report.search = explore(space, report.sensitivities, workloads, job_.options);
    verify(report);
    choose(report);
    return report;
  }

 private:
  /// The losses of each layer at each pair of bits. All layers are measured at all pairs, so that
  /// a state serves other bits of single layers too.
  [[nodiscard]] compress::Sensitivity measured(const accel::Space& space,
                                               const std::vector<std::string>& layers) const {
    std::vector<compress::LayerChoice> choices;
    for (const BitPair& pair : space.pairs_of(layers)) choices.push_back(accel::choice_of(pair));
    std::optional<StateFile> state;
    SensitivitySettings settings{.recipe = job_.recipe, .choices = choices, .state = job_.state};
    settings.options.loss = compress::LossKind::kError;
    settings.options.evaluation = &judged_;
    settings.options.batch = job_.evaluation_batch;
    settings.options.fit = fit_;
    const ir::Graph& graph = network_.graph;
    const auto how = with_state("losses of single layers", graph, samples_.fit, settings, state);
    return compress::losses_alone(graph, samples_.fit, job_.recipe, choices, how);
  }

  /// The best step by its predicted drop.
  [[nodiscard]] std::size_t first_step(const std::vector<const Design*>& ladder) const {
    const double budget = job_.options.budget.accuracy_drop;
    const auto found =
        std::ranges::find_if(ladder, [budget](const Design* each) { return each->drop <= budget; });
    if (found != ladder.end()) return static_cast<std::size_t>(found - ladder.begin());
    fail(ErrorKind::kUnsupported, "no design has a predicted accuracy drop of at most " +
                                      percent(budget) + ": the least is " +
                                      percent(ladder.back()->drop) +
                                      "; allow more or add bits to the space");
  }

  void verify(ExploreReport& report) const {
    const std::vector<const Design*> ladder = report.search.ladder();
    LadderSearch search(ladder, job_.options.budget.accuracy_drop);
    std::optional<std::size_t> step = first_step(ladder);
    while (step && report.verified.size() < job_.tries) {
      const Design& design = *ladder[*step];
      const compress::Recipe recipe = with_bits(job_.recipe, report.search.layers, design.bits);
      const compress::LossAndDrop loss = meter_.loss_and_drop(
          compress::quantize(network_.graph, samples_.fit, recipe, fit_).graph);
      report.verified.push_back(
          {design, loss.loss, loss.drop, drop_standard_error(loss.drop, samples_.judged.size())});
      step = search.next(*step, report.verified.back().drop_bound());
    }
  }

  void choose(ExploreReport& report) const {
    const double budget = job_.options.budget.accuracy_drop;
    const auto rank = [&](const VerifiedDesign& each) {
      const bool is_within = each.drop_bound() <= budget;
      return std::pair(!is_within, is_within
                                       ? accel::objective_of(each.design, job_.options.objective)
                                       : each.measured_drop);
    };
    const auto best = std::ranges::min_element(report.verified, {}, rank);
    report.chosen = static_cast<std::size_t>(best - report.verified.begin());
    report.is_within = best->drop_bound() <= budget;
    const compress::Recipe recipe = with_bits(job_.recipe, report.search.layers, best->design.bits);
    report.settings = job_.space.settings(best->design.hardware);
    report.accelerator = job_.space.hardware(best->design.hardware);
    report.comparison = report.accelerator.comparison;
    report.recipe = compress::to_toml(recipe);
    report.estimate =
        estimate(network_, report.accelerator,
                 {.batch = job_.batch, .recipe = recipe, .options = {.model = job_.options.model}});
  }

  const ExploreSettings& job_;
  std::string name_;
  SizedGraph sized_;  ///< without its graph
  Network network_;   ///< with the extents of the most samples
  bool has_evaluation_;
  data::HeldOut samples_;
  data::Dataset judged_;
  compress::QuantizeSettings fit_;
  compress::LossMeter meter_;
};

}  // namespace

accel::Space space_of(const std::string& description) {
  if (is_description_text(description)) return accel::parse_space(description, "space");
  const std::vector<std::byte> bytes = read_file(description);
  return accel::parse_space({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                            description);
}

ExploreSettings settings_for(const std::string& space, const v0::ExploreSearch& search,
                             const ProgressSink& progress) {
  ExploreSettings settings{.space = space_of(space)};
  settings.options = {accel::objective_named(search.objective), search.budget,
                      accel::method_named(search.method), progress};
  settings.state = search.state;
  settings.batch = search.batch;
  settings.tries = search.tries;
  settings.seed = search.seed;
  settings.memory_bytes = search.sample_memory_bytes;
  return settings;
}

double drop_standard_error(double drop, std::size_t samples) {
  const auto n = static_cast<double>(samples);
  const double share = (std::min(std::abs(drop), 1.0) * n + 1) / (n + 2);
  return std::sqrt(share * (1 - share) / n);
}

ExploreReport explore(const Network& network, const ExploreData<data::Dataset>& samples,
                      const ExploreSettings& settings) {
  if (settings.tries == 0) fail(ErrorKind::kUsage, "tries: expected at least 1, found 0");
  accel::check_budget(settings.options.budget);
  return Explorer(network, samples, settings).run();
}

ExploreReport explore(const Network& network, const ExploreData<DataSource>& samples,
                      const ExploreSettings& settings) {
  FileUses uses;
  uses.read("model", network.name);
  samples.data.add_to(uses);
  if (samples.evaluation != nullptr) samples.evaluation->add_to(uses);
  uses.write("state", settings.state);
  uses.check();
  const data::Dataset data = samples.data.open();
  std::optional<data::Dataset> evaluation;
  if (samples.evaluation != nullptr) evaluation = samples.evaluation->open();
  return explore(network, {data, evaluation ? &*evaluation : nullptr}, settings);
}

}  // namespace halftone
