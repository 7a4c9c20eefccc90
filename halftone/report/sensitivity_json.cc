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

Json costs_json(const v0::NetworkCosts& costs) {
  return {{"loss", costs.loss},
          {"bytes", costs.bytes},
          {"us", number_json(costs.us)},
          {"pj", number_json(costs.pj)}};
}

Json choice_json(const compress::ChoiceSensitivity& choice) {
  Json layers = Json::array();
  for (const compress::LayerSensitivity& layer : choice.layers) {
    layers.push_back({{"weight_bits", bits_json(layer.weight_bits)},
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
  return {{"loss", found.loss},
          {"weighted_by", found.weighted_by},
          {"samples", found.samples},
          {"on_fit_samples", found.on_fit_samples},
          {"warnings", found.warnings},
          {"layers", layers},
          {"units", units},
          {"choices", choices}};
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
  for (const v0::BudgetTry& each : report.tries) {
    tries.push_back({{"predicted", costs_json(each.predicted)},
                     {"measured", costs_json(each.measured)},
                     {"within", each.within},
                     {"optimal", each.optimal}});
  }
  Json front = Json::array();
  for (const v0::NetworkCosts& each : report.front) front.push_back(costs_json(each));
  Json choices = Json::array();
  for (const v0::ChosenLayer& layer : report.choices) {
    choices.push_back(
        {{"layer", layer.name}, {"choice", layer.choice}, {"may_change", layer.may_change}});
  }
  json["budget"] = budget;
  json["chosen"] = costs_json(report.tries[report.chosen].measured);
  json["choices"] = choices;
  json["tries"] = tries;
  json["front"] = front;
  json["sensitivity"] = sensitivity_json(report.costs);
  json["recipe"] = report.recipe;
  return dump(json);
}

}  // namespace halftone::report
