// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/explore.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "halftone/api/elapsed.h"
#include "halftone/api/estimate.h"
#include "halftone/base/error.h"
#include "halftone/base/file.h"

namespace halftone {
namespace {

using accel::BitPair;
using accel::Design;
using accel::LayerChoice;

std::vector<LayerChoice> choices(const std::vector<std::string>& layers,
                                 const std::vector<BitPair>& bits) {
  std::vector<LayerChoice> list;
  for (std::size_t i = 0; i < layers.size(); ++i) list.push_back({layers[i], bits[i]});
  return list;
}

/// The network with the same pair in all layers, for each pair.
std::vector<accel::Workload> uniform_workloads(const Network& network, const ExploreJob& job,
                                               const compress::Recipe& recipe,
                                               const std::vector<std::string>& layers) {
  std::vector<accel::Workload> list;
  for (const BitPair& pair : job.space.pairs_of(layers)) {
    const std::vector<BitPair> bits(layers.size(), pair);
    list.push_back(workload_of(
        network, {.batch = job.batch, .recipe = with_bits(recipe, choices(layers, bits))}));
  }
  return list;
}

/// Chooses the noise of the next design to verify.
class NoiseSearch {
 public:
  NoiseSearch(double budget, double first) : budget_(budget), next_(first) {}

  [[nodiscard]] double next() const { return next_; }
  /// @return whether another design may be better
  bool add(double noise, double drop) {
    constexpr double kMaxStep = 4;
    if (drop <= budget_) {
      within_ = noise;
    } else {
      beyond_ = noise;
    }
    if (within_ && beyond_) {
      next_ = std::sqrt(*within_ * *beyond_);
    } else {
      const double step = drop > 0 ? budget_ / drop : kMaxStep;
      next_ = noise * (within_ ? std::clamp(step, 1.1, kMaxStep) : std::max(step, 1 / kMaxStep));
    }
    return std::isfinite(next_);
  }

 private:
  double budget_;
  double next_;
  std::optional<double> within_;
  std::optional<double> beyond_;
};

std::string percent(double fraction) {
  std::string text = std::to_string(100 * fraction);
  text.resize(text.find('.') + 3);
  return text + " %";
}

class Explorer {
 public:
  Explorer(Network network, const ExploreJob& job)
      : job_(job),
        recipe_(compress::parse_recipe(job.recipe, job.recipe_name)),
        name_(network.name),
        network_(prepared(std::move(network), Purpose::kFit), name_),
        samples_(job.data.open()),
        evaluation_(job.evaluation.value_or(job.data).open()),
        on_{network_.graph,
            samples_,
            evaluation_,
            recipe_,
            job.recipe,
            {job.seed, job.options.progress, job.devices, job.memory_bytes},
            job.evaluation_batch} {}
  Explorer(const Explorer&) = delete;
  Explorer& operator=(const Explorer&) = delete;

  ExploreReport run() {
    const Elapsed elapsed;
    ExploreReport report{.network = name_, .options = job_.options};
    report.has_labels = evaluation_.has_labels();
    // What makes no hardware is found before the long work.
    static_cast<void>(job_.space.hardware(0));
    const std::vector<std::string> layers = searched_layers(network_.graph, recipe_);
    const auto workloads = uniform_workloads(network_, job_, recipe_, layers);
    report.sensitivities = measure_sensitivities(on_, job_.space, job_.state);
    report.search = explore(job_.space, report.sensitivities, workloads, job_.options);
    verify(report);
    choose(report);
    report.seconds = elapsed.seconds();
    return report;
  }

 private:
  [[nodiscard]] const Design& first_design(const accel::Exploration& search, double noise) const {
    if (const Design* design = search.best(noise)) return *design;
    const auto least = std::ranges::min_element(search.front, {}, &Design::noise);
    fail(ErrorKind::kUnsupported,
         "no design has a predicted accuracy drop of at most " +
             percent(job_.options.budget.accuracy_drop) + ": the least is " + percent(least->drop) +
             "; allow more or add bits to the space");
  }

  void verify(ExploreReport& report) const {
    const accel::DropCurve curve(report.search.losses);
    const double budget = job_.options.budget.accuracy_drop;
    NoiseSearch noise(budget, curve.noise_for(budget));
    const Design* design = &first_design(report.search, noise.next());
    const auto is_known = [&](const Design* found) {
      return std::ranges::any_of(report.verified, [&](const VerifiedDesign& each) {
        return each.design.noise == found->noise;
      });
    };
    while (design != nullptr && report.verified.size() < job_.tries && !is_known(design)) {
      const compress::Recipe recipe =
          with_bits(recipe_, choices(report.search.layers, design->bits));
      const accel::Loss measured = measure_loss(on_, recipe, job_.options.progress);
      report.verified.push_back({*design, measured});
      if (!noise.add(design->noise, measured.drop)) break;
      design = report.search.best(noise.next());
    }
  }

  void choose(ExploreReport& report) const {
    const double budget = job_.options.budget.accuracy_drop;
    const auto rank = [&](const VerifiedDesign& each) {
      const bool is_within = each.measured.drop <= budget;
      return std::pair(!is_within, is_within ? each.design.objective(job_.options.objective)
                                             : each.measured.drop);
    };
    const auto best = std::ranges::min_element(report.verified, {}, rank);
    report.chosen = static_cast<std::size_t>(best - report.verified.begin());
    report.is_within = best->measured.drop <= budget;
    const std::vector<LayerChoice> bits = choices(report.search.layers, best->design.bits);
    report.settings = job_.space.settings(best->design.hardware);
    report.accelerator = job_.space.hardware(best->design.hardware);
    report.comparison = report.accelerator.comparison;
    report.recipe = job_.recipe + accel::bits_toml(bits);
    report.estimate = estimate(network_, report.accelerator,
                               {.batch = job_.batch,
                                .recipe = with_bits(recipe_, bits),
                                .options = {.model = job_.options.model}});
  }

  const ExploreJob& job_;
  compress::Recipe recipe_;
  std::string name_;
  Network network_;
  data::Dataset samples_;
  data::Dataset evaluation_;
  accel::Measurement on_;
};

}  // namespace

accel::Space load_space(const std::filesystem::path& path) {
  const std::vector<std::byte> bytes = read_file(path);
  return accel::parse_space({reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                            path.string());
}

ExploreReport explore(Network network, const ExploreJob& job) {
  return Explorer(std::move(network), job).run();
}

}  // namespace halftone
