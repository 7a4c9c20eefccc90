// SPDX-License-Identifier: Apache-2.0
// Which layers lose how much, and networks within budgets.
#include "halftone/api/sensitivity.h"

#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <optional>
#include <utility>

#include "halftone/api/elapsed.h"
#include "halftone/api/option_fields.h"
#include "halftone/api/run_costs.h"
#include "halftone/formats/model.h"
#include "halftone/report/budget.h"
#include "halftone/report/sensitivity.h"
#include "python/src/bind.h"
#include "python/src/fields.h"
#include "python/src/run_job.h"
#include "python/src/types.h"

namespace halftone::python {
namespace {

namespace nb = nanobind;

/// What layers may get, and how that is measured.
struct Choices {
  std::vector<std::string> names{};  ///< empty: those of the program
  std::string loss{};                ///< empty: default_loss()
  std::filesystem::path state{};     ///< empty: none
  std::size_t tries = v0::kBudgetTries;
  std::string core = FirmwareLimits{}.core;
  std::optional<double> instruction_pj{};
  const Samples* test = nullptr;  ///< on which losses are measured; null: the samples of the fit
  bool time = false;              ///< is measured too
};

/// What a network must keep to.
struct Limits {
  std::vector<std::string> texts{};  ///< as those of limits_named()
  std::filesystem::path output{};    ///< whose bytes count; empty: a .circle file
  Choices choices{};
};

/// A network and the report of the program.
struct QuantizedWithin {
  Network network;
  BudgetReport report;
};

compress::MeasureSettings options_of(const Choices& choices) {
  compress::MeasureSettings options;
  if (!choices.loss.empty()) options.loss = compress::loss_named(choices.loss);
  if (choices.test != nullptr) options.evaluation = &choices.test->dataset;
  if (choices.time) measure_time(options);
  return options;
}

SensitivitySettings settings_of(const RecipeHolder& recipe, const Choices& choices) {
  SensitivitySettings settings;
  settings.recipe = recipe.recipe;
  if (!choices.names.empty()) settings.choices = compress::choices_named(choices.names);
  settings.options = options_of(choices);
  settings.state = choices.state;
  return settings;
}

Texts texts_of(const compress::Sensitivity& found) {
  return {report::to_text(found), report::to_json(found)};
}

/// The texts of what work(fit) finds.
template <typename Work>
Texts measured_texts(const QuantizeArguments& how, const Work& work) {
  return run_job(how, [&](const ProgressSink& progress, const spmd::Devices& devices) {
    return texts_of(work(compress::QuantizeSettings{how.seed, progress, devices, how.memory}));
  });
}

Texts sensitivity_of_choices(const Network& network, const Samples& samples,
                             const RecipeHolder& recipe, const Choices& choices,
                             const QuantizeArguments& how) {
  return measured_texts(how, [&](const compress::QuantizeSettings& fit) {
    SensitivitySettings settings = settings_of(recipe, choices);
    settings.options.fit = fit;
    return sensitivity(network, samples.dataset, settings);
  });
}

Texts sensitivity_of_layers(const Network& network, const Network& reference,
                            const Samples& samples, const Choices& choices,
                            const QuantizeArguments& how) {
  return measured_texts(how, [&](const compress::QuantizeSettings& fit) {
    compress::MeasureSettings options = options_of(choices);
    options.fit = fit;
    return sensitivity_of(network, reference, samples.dataset, options);
  });
}

QuantizedWithin quantize_network_within(const Network& network, const Samples& samples,
                                        const RecipeHolder& recipe, const Limits& limits,
                                        const QuantizeArguments& how) {
  return run_job(how, [&](const ProgressSink& progress, const spmd::Devices& devices) {
    const Elapsed elapsed;
    BudgetSettings settings;
    const NamedLimits named = limits_named(limits.texts);
    settings.budget = named.budget;
    settings.firmware = named.firmware;
    settings.firmware.core = limits.choices.core;
    settings.firmware.instruction_pj = limits.choices.instruction_pj;
    settings.sensitivity = settings_of(recipe, limits.choices);
    settings.sensitivity.options.fit = {how.seed, progress, devices, how.memory};
    settings.tries = limits.choices.tries;
    if (!limits.output.empty()) settings.format = to_string(formats::model_format(limits.output));
    if (needs_time(settings.budget)) measure_time(settings.sensitivity.options);
    compress::SearchResult result = quantize_within(network, samples.dataset, settings);
    BudgetReport report = report_of(result, settings);
    QuantizedWithin found{Network(std::move(result.quantized.graph), network.name),
                          std::move(report)};
    found.report.quantized.input_bytes = network.file_bytes;
    found.report.quantized.seconds = elapsed.seconds();
    return found;
  });
}

/// The report, with the size of the file that was written.
Texts report_texts(const QuantizedWithin& quantized, std::uint64_t output_bytes) {
  BudgetReport report = quantized.report;
  report.quantized.output_bytes = output_bytes;
  return {report::to_text(report), report::to_json(report)};
}

void bind_choices(nb::module_& module) {
  nb::class_<Choices> choices(module, "Choices");
  bind_fields(choices, [](Choices& c) {
    Fields fields = choice_fields(c.names, c.loss);
    fields.push_back(state_field(c.state));
    fields.push_back(tries_field(c.tries));
    for (Field& each : firmware_fields(c.core, c.instruction_pj)) {
      fields.push_back(std::move(each));
    }
    return fields;
  });
  choices.def(
      "__init__",
      [](Choices* made, const Samples* test, bool time) {
        new (made) Choices{.test = test, .time = time};
      },
      nb::arg("test").none(), nb::arg("time"), nb::keep_alive<1, 2>());
  nb::class_<Limits>(module, "Limits")
      .def(
          "__init__",
          [](Limits* limits, std::vector<std::string> texts, std::filesystem::path output,
             const Choices& chosen) {
            new (limits) Limits{std::move(texts), std::move(output), chosen};
          },
          nb::arg("texts"), nb::arg("output"), nb::arg("choices"), nb::keep_alive<1, 4>());
}

}  // namespace

void bind_sensitivity(nb::module_& module) {
  bind_choices(module);
  nb::class_<QuantizedWithin>(module, "QuantizedWithin")
      .def_ro("network", &QuantizedWithin::network)
      .def("report", report_texts, nb::arg("output_bytes"))
      .def("sensitivity",
           [](const QuantizedWithin& quantized) { return texts_of(quantized.report.costs); });
  module.def("sensitivity", sensitivity_of_choices, nb::arg("network"), nb::arg("samples"),
             nb::arg("recipe"), nb::arg("choices"), nb::arg("how"));
  module.def("sensitivity_of", sensitivity_of_layers, nb::arg("network"), nb::arg("reference"),
             nb::arg("samples"), nb::arg("choices"), nb::arg("how"));
  module.def("quantize_within", quantize_network_within, nb::arg("network"), nb::arg("samples"),
             nb::arg("recipe"), nb::arg("limits"), nb::arg("how"));
}

}  // namespace halftone::python
