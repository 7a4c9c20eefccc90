// SPDX-License-Identifier: Apache-2.0
#include "halftone/sensitivity.hpp"

#include <string>
#include <utility>

#include "halftone/api/elapsed.h"
#include "halftone/api/run_costs.h"
#include "halftone/api/sensitivity.h"
#include "halftone/cpp/internals.h"

namespace halftone::v0 {
namespace {

using compress::Measure;

CallerException* raised_by(const std::optional<Data>& data) {
  return data ? Internals::raised(*data) : nullptr;
}

/// @param options  SensitivityOptions or BudgetOptions; outlives the result
template <typename Options>
SensitivitySettings settings_of(const Options& options, CallerException& raised) {
  SensitivitySettings settings;
  settings.recipe = recipe_of(options.recipe);
  if (!options.choices.empty()) settings.choices = compress::choices_named(options.choices);
  settings.state = options.state;
  compress::MeasureSettings& how = settings.options;
  if (!options.loss.empty()) how.loss = compress::loss_named(options.loss);
  if (options.test_data) how.evaluation = &Internals::dataset(*options.test_data);
  how.fit = {options.seed, sink_of(options.progress, raised), spmd::Devices::for_threads(),
             options.sample_memory_bytes};
  return settings;
}

void check_reference(const SensitivityOptions& options) {
  if (options.recipe == Recipe{} && options.choices.empty() && options.state.empty()) return;
  fail(halftone::ErrorKind::kUsage,
       "reference: the layers of the model are measured as they are; expected no recipe, no "
       "choices and no state beside it");
}

compress::Budget inside(const Budget& budget) {
  if (budget.bytes && budget.flash) {
    fail(halftone::ErrorKind::kUsage, "budget: expected one of bytes and flash, found both");
  }
  compress::Budget limits;
  limits[Measure::kLoss] = budget.loss;
  limits[Measure::kBytes] = budget.flash ? budget.flash : budget.bytes;
  limits[Measure::kTime] = budget.us;
  limits[Measure::kEnergy] = budget.pj;
  limits[Measure::kInstructions] = budget.instructions;
  return limits;
}

BudgetSettings settings_of(const Budget& budget, const BudgetOptions& options,
                           CallerException& raised) {
  BudgetSettings settings;
  settings.budget = inside(budget);
  settings.firmware = {budget.flash.has_value(), budget.ram, budget.instructions.has_value(),
                       options.instruction_pj, options.core};
  settings.sensitivity = settings_of(options, raised);
  settings.tries = options.tries;
  settings.format = options.format;
  settings.form = {options.form.standard, options.form.matmul_nbits, options.form.one_operator};
  if (needs_time(settings.budget)) measure_time(settings.sensitivity.options);
  return settings;
}

}  // namespace

Sensitivity sensitivity(const Model& model, const Data& samples,
                        const SensitivityOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        if (options.reference) check_reference(options);
        SensitivitySettings settings = settings_of(options, raised);
        if (options.measure_time) measure_time(settings.options);
        const Network& network = Internals::network(model);
        const data::Dataset& data = Internals::dataset(samples);
        return options.reference ? sensitivity_of(network, Internals::network(*options.reference),
                                                  data, settings.options)
                                 : halftone::sensitivity(network, data, settings);
      },
      {&raised, Internals::raised(samples), raised_by(options.test_data)});
}

BudgetResult quantize_within(const Model& model, const Data& samples, const Budget& budget,
                             const BudgetOptions& options) {
  CallerException raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        const Elapsed elapsed;
        const BudgetSettings settings = settings_of(budget, options, raised);
        const Network& network = Internals::network(model);
        compress::SearchResult found =
            halftone::quantize_within(network, Internals::dataset(samples), settings);
        BudgetReport report = report_of(found, settings);
        BudgetResult result{to_public(std::move(found.quantized), network.name),
                            std::move(report.choices),
                            std::move(report.tries),
                            report.chosen,
                            std::move(report.front),
                            std::move(report.recipe),
                            std::move(report.costs)};
        result.ram_bytes = report.ram_bytes;
        result.seconds = elapsed.seconds();
        return result;
      },
      {&raised, Internals::raised(samples), raised_by(options.test_data)});
}

}  // namespace halftone::v0
