// SPDX-License-Identifier: Apache-2.0
#include "halftone/hardware.hpp"

#include <algorithm>
#include <utility>

#include "halftone/api/crossbar.h"
#include "halftone/api/estimate.h"
#include "halftone/api/explore.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {
namespace {

ExploreResult to_public(ExploreReport report) {
  ExploreResult result;
  result.layers = std::move(report.search.layers);
  result.num_hardware = report.search.num_hardware;
  result.num_within = report.search.num_within;
  result.num_designs = report.search.num_designs;
  result.front = std::move(report.search.front);
  result.verified = std::move(report.verified);
  result.chosen = report.chosen;
  result.is_within = report.is_within;
  result.accelerator = accel::to_toml(report.accelerator);
  result.recipe = std::move(report.recipe);
  result.estimate = std::move(report.estimate);
  return result;
}

}  // namespace

std::vector<std::string> accelerators() { return accel::shipped_accelerators(); }

std::string accelerator_text(const std::string& name) {
  return at_border([&] { return accel::accelerator_text(name); });
}

std::string measure_hardware(const MeasureHardwareOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        return accel::to_toml(
            halftone::measure_hardware(options.device, sink_of(options.progress, raised)));
      },
      {&raised});
}

HardwareEstimate estimate(const Model& model, const std::string& accelerator,
                          const EstimateOptions& options) {
  return at_border([&] {
    EstimateJob job = job_of(options);
    if (options.recipe) job.recipe = recipe_of(*options.recipe);
    return halftone::estimate(Internals::network(model), accelerator_of(accelerator), job);
  });
}

LanguageEstimate language_estimate(const std::filesystem::path& model,
                                   const std::string& accelerator,
                                   const LanguageEstimateOptions& options) {
  return at_border(
      [&] { return estimate_language_model(model, accelerator_of(accelerator), options); });
}

ExploreResult explore(const Model& model, const Data& samples, const std::string& space,
                      const ExploreOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        const data::Dataset* judged =
            options.test_data ? &Internals::dataset(*options.test_data) : nullptr;
        const ExploreData<data::Dataset> data{Internals::dataset(samples), judged};
        ExploreSettings settings = settings_for(space, options, sink_of(options.progress, raised));
        settings.recipe = recipe_of(options.recipe);
        settings.devices = spmd::Devices::for_threads();
        return to_public(halftone::explore(Internals::network(model), data, settings));
      },
      {&raised, Internals::raised(samples),
       options.test_data ? Internals::raised(*options.test_data) : nullptr});
}

CrossbarResult crossbar(const Model& model, const Data& samples, const std::string& device,
                        const CrossbarOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        return run_on_crossbar(Internals::network(model), Internals::dataset(samples),
                               device_of(device, options.seconds),
                               options_of(options, sink_of(options.progress, raised),
                                          spmd::Devices::for_threads()))
            .result;
      },
      {&raised, Internals::raised(samples)});
}

}  // namespace halftone::v0
