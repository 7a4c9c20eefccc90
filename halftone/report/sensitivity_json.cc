// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "halftone/report/job_json.h"
#include "halftone/report/report.h"
#include "halftone/report/sensitivity.h"

namespace halftone::report {
namespace {

using compress::Measure;
using compress::Sensitivity;

Json number_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json costs_json(const v0::NetworkCosts& costs) {
  return {{"loss", costs.loss},
          {"bytes", costs.bytes},
          {"us", number_json(costs.us)},
          {"pj", number_json(costs.pj)}};
}

Json layer_json(const compress::LayerSensitivity& layer) {
  return {{"weight_bits", bits_json(layer.weight_bits)},
          {"activation_bits", layer.activation_bits},
          {"bytes", layer.bytes},
          {"sqnr_db", number_json(layer.sqnr_db)},
          {"accumulated_sqnr_db", number_json(layer.accumulated_sqnr_db)},
          {"weighted_error", layer.weighted_error},
          {"loss", layer.weighted_error},
          {"us", number_json(layer.us)},
          {"pj", number_json(layer.pj)}};
}

/// Layers and units that do not have the choice are null.
Json choice_json(const Sensitivity& found, const compress::ChoiceSensitivity& choice) {
  const std::vector<std::size_t> unit_of = units_of_layers(found);
  Json layers = Json::array();
  for (std::size_t i = 0; i < choice.layers.size(); ++i) {
    const bool is_possible = choice.units[unit_of[i]].is_possible;
    layers.push_back(is_possible ? layer_json(choice.layers[i]) : Json());
  }
  Json units = Json::array();
  for (const compress::UnitSensitivity& unit : choice.units) {
    const Json json = {{"bytes", unit.bytes},
                       {"loss", unit.loss},
                       {"accumulated_loss", number_json(unit.accumulated_loss)}};
    units.push_back(unit.is_possible ? json : Json());
  }
  const ChoiceTotals totals = totals_of(found, choice);
  return {{"name", choice.name},
          {"weight_bits", totals.weight_bits ? bits_json(*totals.weight_bits) : Json()},
          {"bytes", totals.bytes},
          {"loss", totals.loss},
          {"us", number_json(choice.us)},
          {"pj", number_json(choice.pj)},
          {"layers", layers},
          {"units", units}};
}

Json sensitivity_json(const Sensitivity& found) {
  Json layers = Json::array();
  for (const compress::SensitiveLayer& layer : found.layers) {
    layers.push_back({{"name", layer.name},
                      {"operator", layer.op},
                      {"float_bytes", layer.float_bytes},
                      {"type", layer.type},
                      {"rows", layer.rows},
                      {"cols", layer.cols},
                      {"bytes", layer.bytes}});
  }
  Json units = Json::array();
  for (const compress::SensitiveUnit& unit : found.units) {
    units.push_back({{"layers", unit.layers}, {"may_change", unit.may_change}});
  }
  Json choices = Json::array();
  for (const compress::ChoiceSensitivity& choice : found.choices) {
    choices.push_back(choice_json(found, choice));
  }
  return {{"loss", found.loss},
          {"weighted_by", found.weighted_by},
          {"samples", found.samples},
          {"tokens", found.tokens ? Json(*found.tokens) : Json()},
          {"on_fit_samples", found.on_fit_samples},
          {"model_loss", number_json(found.model_loss)},
          {"warnings", found.warnings},
          {"layers", layers},
          {"units", units},
          {"choices", choices}};
}

}  // namespace

Json front_json(const std::vector<v0::NetworkCosts>& front) {
  Json list = Json::array();
  for (const v0::NetworkCosts& each : front) list.push_back(costs_json(each));
  return list;
}

std::string to_json(const Sensitivity& sensitivity) { return dump(sensitivity_json(sensitivity)); }

std::string to_json(const BudgetReport& report) {
  Json json = Json::parse(to_json(report.quantized));
  Json budget = Json::object();
  for (const Measure measure : compress::kMeasures) {
    if (report.budget[measure]) budget[std::string(to_string(measure))] = *report.budget[measure];
  }
  Json tries = Json::array();
  for (const v0::BudgetTry& each : report.tries) {
    tries.push_back({{"predicted", costs_json(each.predicted)},
                     {"measured", costs_json(each.measured)},
                     {"within", each.within},
                     {"optimal", each.optimal}});
  }
  Json choices = Json::array();
  for (const v0::ChosenLayer& layer : report.choices) {
    choices.push_back(
        {{"layer", layer.name}, {"choice", layer.choice}, {"may_change", layer.may_change}});
  }
  json["budget"] = budget;
  json["chosen"] = costs_json(report.tries[report.chosen].measured);
  json["choices"] = choices;
  json["tries"] = tries;
  json["front"] = front_json(report.front);
  json["sensitivity"] = sensitivity_json(report.costs);
  json["recipe"] = report.recipe;
  return dump(json);
}

}  // namespace halftone::report
