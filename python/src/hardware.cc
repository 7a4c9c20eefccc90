// SPDX-License-Identifier: Apache-2.0
// Networks on described hardware: estimates, searches, crossbars.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "halftone/api/crossbar.h"
#include "halftone/api/estimate.h"
#include "halftone/api/explore.h"
#include "halftone/report/estimate.h"
#include "halftone/report/explore.h"
#include "halftone/report/report.h"
#include "python/src/bind.h"
#include "python/src/run_job.h"
#include "python/src/types.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

struct EstimateArguments {
  std::optional<std::size_t> batch{};
  bool training = false;
  std::string method{};
  std::size_t devices = 1;
  std::string split{};
};

/// Text, JSON, roofline, timeline, and the timeline as trace events.
using EstimateTexts = std::tuple<std::string, std::string, std::string, std::string, std::string>;

EstimateTexts texts_of(const accel::Estimate& found, const accel::Accelerator& chip) {
  return {report::to_text(found), report::to_json(found), report::roofline_svg(found, chip),
          report::timeline_svg(found), report::timeline_trace(found)};
}

EstimateTexts estimate_network(const Network& network, const std::string& accelerator,
                               const RecipeHolder* recipe, const EstimateArguments& how) {
  const nb::gil_scoped_release no_gil;
  EstimateJob job{.batch = how.batch};
  if (recipe != nullptr) job.recipe = recipe->recipe;
  if (how.training) job.training.emplace();
  job.options = {accel::method_named(how.method), {how.devices, accel::split_named(how.split)}};
  const accel::Accelerator chip = accelerator_of(accelerator);
  return texts_of(estimate(network, chip, job), chip);
}

/// Text and JSON, and the texts of the prompt and of a token.
using LanguageEstimateTexts = std::tuple<std::string, std::string, EstimateTexts, EstimateTexts>;

LanguageEstimateTexts estimate_language(const std::filesystem::path& model,
                                        const std::string& accelerator,
                                        const LanguageEstimateOptions& options) {
  const nb::gil_scoped_release no_gil;
  const accel::Accelerator chip = accelerator_of(accelerator);
  const v0::LanguageEstimate found = estimate_language_model(model, chip, options);
  return {report::to_text(found), report::to_json(found), texts_of(found.prompt, chip),
          texts_of(found.token, chip)};
}

struct MeasureHardwareArguments : JobArguments {};

std::string measured_hardware(const std::string& device, const MeasureHardwareArguments& how) {
  return run_job(how, [&](const ProgressSink& progress, const spmd::Devices& /*devices*/) {
    return accel::to_toml(measure_hardware(device, progress));
  });
}

struct ExploreArguments : QuantizeArguments {
  std::string space{};
  std::string objective{};
  std::string budget{};
  std::string method{};
  std::optional<std::size_t> batch{};
  std::size_t tries = 0;
  std::string state{};
};

/// Text, JSON, the picture of the front, and the chosen hardware and bits as TOML.
using ExploreTexts = std::tuple<std::string, std::string, std::string, std::string, std::string>;

ExploreTexts explore_network(const Network& network, const Samples& samples, const Samples* judged,
                             const RecipeHolder& recipe, const ExploreArguments& how) {
  return run_job(how, [&](const ProgressSink& progress, const spmd::Devices& devices) {
    ExploreSettings settings{.space = space_of(how.space), .recipe = recipe.recipe};
    settings.options = {accel::objective_named(how.objective), accel::parse_budget(how.budget),
                        accel::method_named(how.method), progress};
    settings.state = how.state;
    settings.batch = how.batch;
    settings.tries = how.tries;
    settings.seed = how.seed;
    settings.devices = devices;
    settings.memory_bytes = how.memory;
    const data::Dataset* evaluation = judged == nullptr ? nullptr : &judged->dataset;
    const ExploreReport found =
        explore(network, ExploreData<data::Dataset>{samples.dataset, evaluation}, settings);
    return ExploreTexts{report::to_text(found), report::to_json(found), report::front_svg(found),
                        accel::to_toml(found.accelerator), found.recipe};
  });
}

struct CrossbarArguments : JobArguments {
  std::size_t seeds = 1;
  std::optional<double> seconds{};
  std::uint64_t seed = 0;
  std::size_t batch = 64;
};

Texts crossbar_network(const Network& network, const Samples& samples, const std::string& device,
                       const CrossbarArguments& how) {
  return run_job(how, [&](const ProgressSink& progress, const spmd::Devices& devices) {
    crossbar::CrossbarDevice described = device_of(device);
    if (how.seconds) described.seconds = *how.seconds;
    crossbar::NetworkOptions options;
    options.num_seeds = how.seeds;
    options.seed = how.seed;
    options.evaluate.batch = how.batch;
    options.evaluate.progress = progress;
    options.evaluate.devices = devices;
    const CrossbarReport found = run_on_crossbar(network, samples.dataset, described, options);
    return Texts{report::to_text(found), report::to_json(found)};
  });
}

void bind_language_arguments(nb::module_& module) {
  nb::class_<LanguageEstimateOptions>(module, "LanguageEstimateArguments")
      .def(nb::init<>())
      .def_rw("weight_bits", &LanguageEstimateOptions::weight_bits, nb::arg().none())
      .def_rw("activation_bits", &LanguageEstimateOptions::activation_bits)
      .def_rw("cache_bits", &LanguageEstimateOptions::cache_bits)
      .def_rw("group_size", &LanguageEstimateOptions::group_size)
      .def_rw("batch", &LanguageEstimateOptions::batch)
      .def_rw("prompt", &LanguageEstimateOptions::prompt)
      .def_rw("context", &LanguageEstimateOptions::context)
      .def_rw("method", &LanguageEstimateOptions::method)
      .def_rw("devices", &LanguageEstimateOptions::devices)
      .def_rw("split", &LanguageEstimateOptions::split);
}

void bind_hows(nb::module_& module) {
  nb::class_<EstimateArguments>(module, "EstimateArguments")
      .def(nb::init<>())
      .def_rw("batch", &EstimateArguments::batch, nb::arg().none())
      .def_rw("training", &EstimateArguments::training)
      .def_rw("method", &EstimateArguments::method)
      .def_rw("devices", &EstimateArguments::devices)
      .def_rw("split", &EstimateArguments::split);
  nb::class_<MeasureHardwareArguments>(module, "MeasureHardwareArguments")
      .def(nb::init<>())
      .def_rw("threads", &MeasureHardwareArguments::threads)
      .def_rw("progress", &MeasureHardwareArguments::progress, nb::arg().none());
  nb::class_<ExploreArguments>(module, "ExploreArguments")
      .def(nb::init<>())
      .def_rw("threads", &ExploreArguments::threads)
      .def_rw("progress", &ExploreArguments::progress, nb::arg().none())
      .def_rw("seed", &ExploreArguments::seed)
      .def_rw("memory", &ExploreArguments::memory, nb::arg().none())
      .def_rw("space", &ExploreArguments::space)
      .def_rw("objective", &ExploreArguments::objective)
      .def_rw("budget", &ExploreArguments::budget)
      .def_rw("method", &ExploreArguments::method)
      .def_rw("batch", &ExploreArguments::batch, nb::arg().none())
      .def_rw("tries", &ExploreArguments::tries)
      .def_rw("state", &ExploreArguments::state);
  nb::class_<CrossbarArguments>(module, "CrossbarArguments")
      .def(nb::init<>())
      .def_rw("threads", &CrossbarArguments::threads)
      .def_rw("progress", &CrossbarArguments::progress, nb::arg().none())
      .def_rw("seeds", &CrossbarArguments::seeds)
      .def_rw("seconds", &CrossbarArguments::seconds, nb::arg().none())
      .def_rw("seed", &CrossbarArguments::seed)
      .def_rw("batch", &CrossbarArguments::batch);
}

}  // namespace

void bind_hardware(nb::module_& module) {
  bind_hows(module);
  bind_language_arguments(module);
  module.def("accelerators", accel::shipped_accelerators);
  module.def("accelerator_text", accel::accelerator_text, nb::arg("name"));
  module.def("measure_hardware", measured_hardware, nb::arg("device"), nb::arg("how"));
  module.def("estimate", estimate_network, nb::arg("network"), nb::arg("accelerator"),
             nb::arg("recipe").none(), nb::arg("how"));
  module.def("estimate_language", estimate_language, nb::arg("model"), nb::arg("accelerator"),
             nb::arg("how"));
  module.def("explore", explore_network, nb::arg("network"), nb::arg("samples"),
             nb::arg("judged").none(), nb::arg("recipe"), nb::arg("how"));
  module.def("crossbar", crossbar_network, nb::arg("network"), nb::arg("samples"),
             nb::arg("device"), nb::arg("how"));
}

}  // namespace halftone::python
