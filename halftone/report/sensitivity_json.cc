// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <optional>
#include <string>

#include "halftone/report/json.h"
#include "halftone/report/report.h"
#include "halftone/report/sensitivity.h"

namespace halftone::report {
namespace {

using compress::Measure;
using compress::Sensitivity;

Json number_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

/// What was measured of these, by name.
Json values_json(const compress::PerMeasure<double>& values, const Sensitivity& costs) {
  const auto& any = costs.choices.front();
  Json json = {{"loss", values[Measure::kLoss]}, {"bytes", values[Measure::kBytes]}};
  json["us"] = any.us ? Json(values[Measure::kTime]) : Json();
  json["pj"] = any.pj ? Json(values[Measure::kEnergy]) : Json();
  return json;
}

Json choice_json(const compress::ChoiceSensitivity& choice) {
  Json layers = Json::array();
  for (const compress::LayerSensitivity& layer : choice.layers) {
    layers.push_back({{"weight_bits", layer.weight_bits},
                      {"activation_bits", layer.activation_bits},
                      {"bytes", layer.bytes},
                      {"sqnr_db", layer.sqnr_db},
                      {"accumulated_sqnr_db", layer.accumulated_sqnr_db},
                      {"weighted_error", layer.weighted_error},
                      {"us", number_json(layer.us)},
                      {"pj", number_json(layer.pj)}});
  }
  Json units = Json::array();
  for (const compress::UnitSensitivity& unit : choice.units) {
    units.push_back(
        {{"bytes", unit.bytes}, {"loss", unit.loss}, {"accumulated_loss", unit.accumulated_loss}});
  }
  return {{"name", choice.name},
          {"us", number_json(choice.us)},
          {"pj", number_json(choice.pj)},
          {"layers", layers},
          {"units", units}};
}

Json sensitivity_json(const Sensitivity& found) {
  Json layers = Json::array();
  for (const compress::SensitiveLayer& layer : found.layers) {
    layers.push_back(
        {{"name", layer.name}, {"operator", layer.op}, {"float_bytes", layer.float_bytes}});
  }
  Json units = Json::array();
  for (const compress::SensitiveUnit& unit : found.units) {
    units.push_back({{"layers", unit.layers}, {"may_change", unit.may_change}});
  }
  Json choices = Json::array();
  for (const compress::ChoiceSensitivity& choice : found.choices) {
    choices.push_back(choice_json(choice));
  }
  return {{"loss", to_string(found.loss)},
          {"weighted_by", found.by_gradients ? "gradients" : "noise"},
          {"samples", found.samples},
          {"on_fit_samples", found.on_fit_samples},
          {"warnings", found.warnings},
          {"layers", layers},
          {"units", units},
          {"choices", choices}};
}

/// The choice of each layer.
Json chosen_json(const Sensitivity& costs, const compress::Allocation& allocation) {
  Json choices = Json::array();
  for (std::size_t u = 0; u < costs.units.size(); ++u) {
    for (const std::size_t layer : costs.units[u].layers) {
      choices.push_back({{"layer", costs.layers[layer].name},
                         {"choice", costs.choices[allocation.choices[u]].name},
                         {"may_change", costs.units[u].may_change}});
    }
  }
  return choices;
}

}  // namespace

std::string to_json(const Sensitivity& sensitivity) { return dump(sensitivity_json(sensitivity)); }

std::string to_json(const BudgetReport& report) {
  Json json = Json::parse(to_json(report.quantized));
  Json budget = Json::object();
  for (const Measure measure : compress::kMeasures) {
    if (report.budget[measure]) budget[std::string(to_string(measure))] = *report.budget[measure];
  }
  Json tries = Json::array();
  for (const compress::BudgetTry& each : report.tries) {
    tries.push_back({{"predicted", values_json(each.predicted.values, report.costs)},
                     {"measured", values_json(each.values, report.costs)},
                     {"within", each.is_within},
                     {"optimal", each.predicted.is_optimal}});
  }
  Json front = Json::array();
  for (const compress::Allocation& each : report.front) {
    front.push_back(values_json(each.values, report.costs));
  }
  const compress::BudgetTry& chosen = report.tries[report.chosen];
  json["budget"] = budget;
  json["chosen"] = values_json(chosen.values, report.costs);
  json["choices"] = chosen_json(report.costs, chosen.predicted);
  json["tries"] = tries;
  json["front"] = front;
  json["sensitivity"] = sensitivity_json(report.costs);
  json["recipe"] = report.recipe;
  return dump(json);
}

}  // namespace halftone::report
