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

Raised* raised_by(const std::optional<Data>& data) {
  return data ? Internals::raised(*data) : nullptr;
}

/// @param options  SensitivityOptions or BudgetOptions; outlives the result
template <typename Options>
SensitivitySettings settings_of(const Options& options, Raised& raised) {
  SensitivitySettings settings;
  settings.recipe = recipe_of(options.recipe);
  if (!options.choices.empty()) settings.choices = compress::choices_named(options.choices);
  settings.state = options.state;
  compress::SensitivityOptions& how = settings.options;
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

ChoiceSensitivity outside(const compress::ChoiceSensitivity& found) {
  ChoiceSensitivity choice{found.name, {}, {}, found.us};
  for (const compress::LayerSensitivity& layer : found.layers) {
    choice.layers.push_back({layer.weight_bits, layer.activation_bits, layer.bytes, layer.sqnr_db,
                             layer.accumulated_sqnr_db, layer.weighted_error, layer.us});
  }
  for (const compress::UnitSensitivity& unit : found.units) {
    choice.units.push_back({unit.bytes, unit.loss, unit.accumulated_loss});
  }
  return choice;
}

Sensitivity outside(const compress::Sensitivity& found) {
  Sensitivity result;
  result.loss = to_string(found.loss);
  result.weighted_by = found.by_gradients ? "gradients" : "noise";
  result.samples = found.samples;
  result.on_fit_samples = found.on_fit_samples;
  result.warnings = found.warnings;
  for (const compress::SensitiveLayer& layer : found.layers) {
    result.layers.push_back({layer.name, layer.op, layer.float_bytes});
  }
  for (const compress::SensitiveUnit& unit : found.units) {
    result.units.push_back({unit.layers, unit.may_change});
  }
  for (const compress::ChoiceSensitivity& choice : found.choices) {
    result.choices.push_back(outside(choice));
  }
  return result;
}

NetworkCosts outside(const compress::PerMeasure<double>& values, bool is_timed) {
  NetworkCosts costs{values[Measure::kLoss], values[Measure::kBytes], {}};
  if (is_timed) costs.us = values[Measure::kTime];
  return costs;
}

compress::Budget inside(const Budget& budget) {
  compress::Budget limits;
  limits[Measure::kLoss] = budget.loss;
  limits[Measure::kBytes] = budget.bytes;
  limits[Measure::kTime] = budget.us;
  return limits;
}

BudgetSettings settings_of(const Budget& budget, const BudgetOptions& options, Raised& raised) {
  BudgetSettings settings;
  settings.budget = inside(budget);
  settings.sensitivity = settings_of(options, raised);
  settings.tries = options.tries;
  settings.format = options.format;
  settings.form = {options.form.standard, options.form.matmul_nbits};
  if (needs_time(settings.budget)) measure_time(settings.sensitivity.options);
  return settings;
}

std::vector<ChosenLayer> chosen_layers(const Sensitivity& costs,
                                       const std::vector<std::size_t>& choices) {
  std::vector<ChosenLayer> chosen;
  for (std::size_t u = 0; u < costs.units.size(); ++u) {
    const SensitiveUnit& unit = costs.units[u];
    for (const std::size_t layer : unit.layers) {
      chosen.push_back({costs.layers[layer].name, costs.choices[choices[u]].name, unit.may_change});
    }
  }
  return chosen;
}

/// @param name  of the network
BudgetResult outside(compress::BudgetResult found, const std::string& name) {
  BudgetResult result{to_public(std::move(found.quantized), name),
                      {},
                      {},
                      found.chosen,
                      {},
                      compress::to_toml(found.recipe),
                      outside(found.costs)};
  const bool is_timed = found.costs.choices.front().us.has_value();
  for (const compress::BudgetTry& each : found.tries) {
    result.tries.push_back({outside(each.predicted.values, is_timed),
                            outside(each.values, is_timed), each.is_within,
                            each.predicted.is_optimal});
  }
  for (const compress::Allocation& each : found.front) {
    result.front.push_back(outside(each.values, is_timed));
  }
  result.choices = chosen_layers(result.sensitivity, found.tries[found.chosen].predicted.choices);
  return result;
}

}  // namespace

Sensitivity sensitivity(const Model& model, const Data& samples,
                        const SensitivityOptions& options) {
  Raised raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        if (options.reference) check_reference(options);
        SensitivitySettings settings = settings_of(options, raised);
        if (options.measure_time) measure_time(settings.options);
        const Network& network = Internals::network(model);
        const data::Dataset& data = Internals::dataset(samples);
        return outside(options.reference
                           ? sensitivity_of(network, Internals::network(*options.reference), data,
                                            settings.options)
                           : halftone::sensitivity(network, data, settings));
      },
      {&raised, Internals::raised(samples), raised_by(options.test_data)});
}

BudgetResult quantize_within(const Model& model, const Data& samples, const Budget& budget,
                             const BudgetOptions& options) {
  Raised raised;
  return at_border(
      [&] {
        const UseThreadSettings use(settings_for(options.resources));
        const Elapsed elapsed;
        const BudgetSettings settings = settings_of(budget, options, raised);
        const Network& network = Internals::network(model);
        BudgetResult result =
            outside(halftone::quantize_within(network, Internals::dataset(samples), settings),
                    network.name);
        result.seconds = elapsed.seconds();
        return result;
      },
      {&raised, Internals::raised(samples), raised_by(options.test_data)});
}

}  // namespace halftone::v0
