// SPDX-License-Identifier: Apache-2.0
// What takes long: quantizing, evaluating, measuring.
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "halftone/api/elapsed.h"
#include "halftone/api/estimate.h"
#include "halftone/api/evaluate.h"
#include "halftone/api/machine.h"
#include "halftone/api/measure.h"
#include "halftone/api/presets.h"
#include "halftone/api/quantize.h"
#include "halftone/api/recipe.h"
#include "halftone/api/sample_shapes.h"
#include "halftone/compress/recipe_fields.h"
#include "halftone/report/report.h"
#include "python/src/bind.h"
#include "python/src/fields.h"
#include "python/src/run_job.h"
#include "python/src/types.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// The network as it was read, its quantized form and the report of the program.
struct Quantized {
  Network network;
  QuantizeReport report;
};

Quantized quantize_network(const Network& network, const Samples& samples,
                           const RecipeHolder& recipe, const QuantizeArguments& how) {
  return run_job(how, [&](const ProgressSink& progress, const spmd::Devices& devices) {
    const Elapsed elapsed;
    const compress::QuantizeSettings options{how.seed, progress, devices, how.memory};
    compress::QuantizedGraph result =
        how.integers.empty()
            ? quantize(network, samples.dataset, recipe.recipe, options)
            : quantize_to_integers(network, samples.dataset, recipe.recipe, options, how.integers);
    QuantizeReport report = report_of(result);
    Quantized quantized{Network(std::move(result.graph), network.name), std::move(report)};
    quantized.report.input_bytes = network.file_bytes;
    quantized.report.seconds = elapsed.seconds();
    return quantized;
  });
}

/// The report, with the size of the file that was written.
Texts report_texts(const Quantized& quantized, std::uint64_t output_bytes) {
  QuantizeReport report = quantized.report;
  report.output_bytes = output_bytes;
  return {report::to_text(report), report::to_json(report)};
}

struct RunArguments : JobArguments {
  runtime::ExecutionOptions execution{};
  std::string accelerator{};  ///< of bench: whose times stand beside the measured ones; empty: none
};

Texts evaluate_network(const Network& network, const Samples& samples, const Network* reference,
                       std::size_t batch, const RunArguments& how) {
  const compress::Evaluation result =
      run_job(how, [&](const ProgressSink& progress, const spmd::Devices& devices) {
        compress::EvaluateSettings options;
        options.batch = batch;
        options.progress = progress;
        options.devices = devices;
        options.execution = how.execution;
        return evaluate(network, samples.dataset, reference, options);
      });
  return {report::to_text(result), report::to_json(result)};
}

Texts bench_network(const Network& network, std::optional<std::size_t> batch, double seconds,
                    bool explain, const RunArguments& how) {
  const MeasuredPlan result =
      run_job(how, [&](const ProgressSink& progress, const spmd::Devices& /*devices*/) {
        TimingSettings options;
        options.batch = batch;
        options.min_seconds = seconds;
        options.execution = how.execution;
        options.progress = progress;
        std::optional<accel::Accelerator> hardware;
        if (!how.accelerator.empty()) hardware = accelerator_of(how.accelerator);
        MeasuredPlan found = measure(network, options);
        if (hardware) found.predicted = predict(*found.plan, *hardware);
        return found;
      });
  return {report::to_text(result, explain), report::to_json(result)};
}

void bind_how(nb::module_& module) {
  nb::class_<JobArguments>(module, "JobArguments");
  nb::class_<QuantizeArguments, JobArguments>(module, "QuantizeArguments")
      .def(
          "__init__",
          [](QuantizeArguments* how, int threads, nb::object progress, std::uint64_t seed,
             std::optional<std::uint64_t> memory, std::string integers) {
            new (how) QuantizeArguments{
                {threads, std::move(progress)}, seed, memory, std::move(integers)};
          },
          nb::arg("threads"), nb::arg("progress").none(), nb::arg("seed"), nb::arg("memory").none(),
          nb::arg("integers"));
  nb::class_<RunArguments, JobArguments>(module, "RunArguments")
      .def(
          "__init__",
          [](RunArguments* how, int threads, nb::object progress,
             const runtime::ExecutionOptions& execution) {
            new (how) RunArguments{{threads, std::move(progress)}, execution};
          },
          nb::arg("threads"), nb::arg("progress").none(), nb::arg("execution"))
      .def_rw("accelerator", &RunArguments::accelerator);
}

void bind_recipe(nb::module_& module) {
  nb::class_<SettingNames> settings(module, "Settings");
  bind_fields(settings, [](SettingNames& names) { return fields_of(names); });
  settings.def(nb::init<>());
  module.def(
      "recipe_needs", [](const std::string& key) { return compress::needs_of(key); },
      nb::arg("key"));
  module.def("preset_names", [] {
    std::vector<std::string> names;
    for (const PresetSettings& each : presets()) names.push_back(each.name);
    return names;
  });
  module.def(
      "preset",
      [](const std::string& name) {
        PresetSettings preset = preset_named(name);
        return std::pair(set_values(fields_of(preset.settings)), preset.limits);
      },
      nb::arg("name"));
  nb::class_<RecipeHolder>(module, "Recipe")
      .def_static(
          "load",
          [](const std::filesystem::path& path, const SettingNames& names) {
            return RecipeHolder{load_recipe(path, names)};
          },
          nb::arg("path"), nb::arg("settings"))
      .def_static(
          "parse",
          [](const std::string& toml, const SettingNames& names) {
            return RecipeHolder{recipe_from(toml, "recipe", names)};
          },
          nb::arg("toml"), nb::arg("settings"))
      .def("to_toml", [](const RecipeHolder& holder) { return compress::to_toml(holder.recipe); });
}

}  // namespace

void bind_jobs(nb::module_& module) {
  bind_how(module);
  bind_recipe(module);
  nb::class_<Quantized>(module, "Quantized")
      .def_ro("network", &Quantized::network)
      .def("report", report_texts, nb::arg("output_bytes"));
  module.def("quantize", quantize_network, nb::arg("network"), nb::arg("samples"),
             nb::arg("recipe"), nb::arg("how"));
  module.def("evaluate", evaluate_network, nb::arg("network"), nb::arg("samples"),
             nb::arg("reference").none(), nb::arg("batch"), nb::arg("how"));
  module.def("bench", bench_network, nb::arg("network"), nb::arg("batch").none(),
             nb::arg("seconds"), nb::arg("explain"), nb::arg("how"));
  module.def(
      "check_output",
      [](const Network& network, const Samples& samples, const std::filesystem::path& output) {
        const nb::gil_scoped_release no_gil;
        check_output(output, with_samples(network, samples.dataset.parts()[0]));
      },
      nb::arg("network"), nb::arg("samples"), nb::arg("output"));
}

}  // namespace halftone::python
