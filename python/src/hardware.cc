// SPDX-License-Identifier: Apache-2.0
// Networks on described hardware: estimates, searches, crossbars.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <filesystem>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "halftone/api/crossbar.h"
#include "halftone/api/estimate.h"
#include "halftone/api/explore.h"
#include "halftone/api/option_fields.h"
#include "halftone/report/estimate.h"
#include "halftone/report/explore.h"
#include "halftone/report/report.h"
#include "python/src/bind.h"
#include "python/src/fields.h"
#include "python/src/run_job.h"
#include "python/src/types.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// Text, JSON, roofline, timeline, and the timeline as trace events.
using EstimateTexts = std::tuple<std::string, std::string, std::string, std::string, std::string>;

EstimateTexts texts_of(const accel::Estimate& found, const accel::Accelerator& chip) {
  return {report::to_text(found), report::to_json(found), report::roofline_svg(found, chip),
          report::timeline_svg(found), report::timeline_trace(found)};
}

EstimateTexts estimate_network(const Network& network, const std::string& accelerator,
                               const RecipeHolder* recipe, const v0::EstimateOptions& how) {
  const nb::gil_scoped_release no_gil;
  EstimateJob job = job_of(how);
  if (recipe != nullptr) job.recipe = recipe->recipe;
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

struct ExploreArguments : JobArguments {
  v0::ExploreSearch search{};
  std::string space{};
  std::string budget{};
};

/// Text, JSON, the picture of the front, and the chosen hardware and bits as TOML.
using ExploreTexts = std::tuple<std::string, std::string, std::string, std::string, std::string>;

ExploreTexts explore_network(const Network& network, const Samples& samples, const Samples* judged,
                             const RecipeHolder& recipe, const ExploreArguments& how) {
  return run_job(how, [&](const ProgressSink& progress, const spmd::Devices& devices) {
    v0::ExploreSearch search = how.search;
    search.budget = accel::parse_budget(how.budget);
    ExploreSettings settings = settings_for(how.space, search, progress);
    settings.recipe = recipe.recipe;
    settings.devices = devices;
    const data::Dataset* evaluation = judged == nullptr ? nullptr : &judged->dataset;
    const ExploreReport found =
        explore(network, ExploreData<data::Dataset>{samples.dataset, evaluation}, settings);
    return ExploreTexts{report::to_text(found), report::to_json(found), report::front_svg(found),
                        accel::to_toml(found.accelerator), found.recipe};
  });
}

struct CrossbarArguments : JobArguments {
  v0::CrossbarOptions options{};
};

Texts crossbar_network(const Network& network, const Samples& samples, const std::string& device,
                       const CrossbarArguments& how) {
  return run_job(how, [&](const ProgressSink& progress, const spmd::Devices& devices) {
    const CrossbarReport found =
        run_on_crossbar(network, samples.dataset, device_of(device, how.options.seconds),
                        options_of(how.options, progress, devices));
    return Texts{report::to_text(found), report::to_json(found)};
  });
}

/// A class of options alone.
template <typename Options>
void bind_options(nb::module_& module, const char* name) {
  nb::class_<Options> bound(module, name);
  bind_fields(bound, [](Options& options) { return fields_of(options); });
  bound.def(nb::init<>());
}

void bind_hows(nb::module_& module) {
  bind_options<v0::EstimateOptions>(module, "EstimateArguments");
  bind_options<LanguageEstimateOptions>(module, "LanguageEstimateArguments");
  nb::class_<MeasureHardwareArguments>(module, "MeasureHardwareArguments")
      .def(nb::init<>())
      .def_rw("threads", &MeasureHardwareArguments::threads)
      .def_rw("progress", &MeasureHardwareArguments::progress, nb::arg().none());
  nb::class_<ExploreArguments> explore(module, "ExploreArguments");
  bind_fields(explore, [](ExploreArguments& a) {
    Fields fields = fields_of(a.search);
    fields.push_back(memory_field(a.search.sample_memory_bytes));
    return fields;
  });
  explore.def(nb::init<>())
      .def_rw("threads", &ExploreArguments::threads)
      .def_rw("progress", &ExploreArguments::progress, nb::arg().none())
      .def_rw("space", &ExploreArguments::space)
      .def_rw("budget", &ExploreArguments::budget);
  nb::class_<CrossbarArguments> crossbar(module, "CrossbarArguments");
  bind_fields(crossbar, [](CrossbarArguments& a) { return fields_of(a.options); });
  crossbar.def(nb::init<>())
      .def_rw("threads", &CrossbarArguments::threads)
      .def_rw("progress", &CrossbarArguments::progress, nb::arg().none());
}

}  // namespace

void bind_hardware(nb::module_& module) {
  bind_hows(module);
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
