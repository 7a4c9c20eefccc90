// SPDX-License-Identifier: Apache-2.0
// Networks on described hardware: estimates, searches, crossbars.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

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

struct EstimateHow {
  std::optional<std::size_t> batch{};
  bool training = false;
  std::string method{};
  std::size_t devices = 1;
  std::string split{};
};

/// Text, JSON, roofline, timeline, and the timeline as trace events.
using EstimateTexts = std::tuple<std::string, std::string, std::string, std::string, std::string>;

EstimateTexts estimate_network(const Network& network, const std::string& accelerator,
                               const RecipeHolder* recipe, const EstimateHow& how) {
  const nb::gil_scoped_release no_gil;
  EstimateJob job{.batch = how.batch};
  if (recipe != nullptr) job.recipe = recipe->recipe;
  if (how.training) job.training.emplace();
  job.options = {accel::model_named(how.method), {how.devices, accel::split_named(how.split)}};
  const accel::Accelerator chip = accelerator_of(accelerator);
  const accel::Estimate found = estimate(network, chip, job);
  return {report::to_text(found, chip), report::to_json(found, chip),
          report::roofline_svg(found, chip), report::timeline_svg(found),
          report::timeline_trace(found)};
}

struct ExploreHow : QuantizeHow {
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
                             const RecipeHolder& recipe, const ExploreHow& how) {
  return run_job(how, [&](const ProgressSink& progress, const spmd::Devices& devices) {
    ExploreSettings settings{.space = space_of(how.space), .recipe = recipe.recipe};
    settings.options = {accel::objective_named(how.objective), accel::parse_budget(how.budget),
                        accel::model_named(how.method), progress};
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

struct CrossbarHow : How {
  std::size_t seeds = 1;
  std::optional<double> seconds{};
  std::uint64_t seed = 0;
  std::size_t batch = 64;
};

Texts crossbar_network(const Network& network, const Samples& samples, const std::string& device,
                       const CrossbarHow& how) {
  return run_job(how, [&](const ProgressSink& progress, const spmd::Devices& devices) {
    crossbar::Device described = device_of(device);
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

void bind_hows(nb::module_& module) {
  nb::class_<EstimateHow>(module, "EstimateHow")
      .def(nb::init<>())
      .def_rw("batch", &EstimateHow::batch, nb::arg().none())
      .def_rw("training", &EstimateHow::training)
      .def_rw("method", &EstimateHow::method)
      .def_rw("devices", &EstimateHow::devices)
      .def_rw("split", &EstimateHow::split);
  nb::class_<ExploreHow>(module, "ExploreHow")
      .def(nb::init<>())
      .def_rw("threads", &ExploreHow::threads)
      .def_rw("progress", &ExploreHow::progress, nb::arg().none())
      .def_rw("seed", &ExploreHow::seed)
      .def_rw("memory", &ExploreHow::memory, nb::arg().none())
      .def_rw("space", &ExploreHow::space)
      .def_rw("objective", &ExploreHow::objective)
      .def_rw("budget", &ExploreHow::budget)
      .def_rw("method", &ExploreHow::method)
      .def_rw("batch", &ExploreHow::batch, nb::arg().none())
      .def_rw("tries", &ExploreHow::tries)
      .def_rw("state", &ExploreHow::state);
  nb::class_<CrossbarHow>(module, "CrossbarHow")
      .def(nb::init<>())
      .def_rw("threads", &CrossbarHow::threads)
      .def_rw("progress", &CrossbarHow::progress, nb::arg().none())
      .def_rw("seeds", &CrossbarHow::seeds)
      .def_rw("seconds", &CrossbarHow::seconds, nb::arg().none())
      .def_rw("seed", &CrossbarHow::seed)
      .def_rw("batch", &CrossbarHow::batch);
}

}  // namespace

void bind_hardware(nb::module_& module) {
  bind_hows(module);
  module.def("accelerators", accel::shipped_accelerators);
  module.def("accelerator_text", accel::accelerator_text, nb::arg("name"));
  module.def("estimate", estimate_network, nb::arg("network"), nb::arg("accelerator"),
             nb::arg("recipe").none(), nb::arg("how"));
  module.def("explore", explore_network, nb::arg("network"), nb::arg("samples"),
             nb::arg("judged").none(), nb::arg("recipe"), nb::arg("how"));
  module.def("crossbar", crossbar_network, nb::arg("network"), nb::arg("samples"),
             nb::arg("device"), nb::arg("how"));
}

}  // namespace halftone::python
