// SPDX-License-Identifier: Apache-2.0
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "halftone/report/sensitivity.h"

namespace halftone::report {
namespace {

using v0::Sensitivity;

Json number_json(const std::optional<double>& value) { return value ? Json(*value) : Json(); }

Json layer_json(const v0::LayerSensitivity& layer) {
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
Json choice_json(const Sensitivity& found, const v0::ChoiceSensitivity& choice) {
  const std::vector<std::size_t> unit_of = units_of_layers(found);
  Json layers = Json::array();
  for (std::size_t i = 0; i < choice.layers.size(); ++i) {
    const bool is_possible = choice.units[unit_of[i]].is_possible;
    layers.push_back(is_possible ? layer_json(choice.layers[i]) : Json());
  }
  Json units = Json::array();
  for (const v0::UnitSensitivity& unit : choice.units) {
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

}  // namespace

Json sensitivity_json(const Sensitivity& found) {
  Json layers = Json::array();
  for (const v0::SensitiveLayer& layer : found.layers) {
    layers.push_back({{"name", layer.name},
                      {"operator", layer.op},
                      {"float_bytes", layer.float_bytes},
                      {"type", layer.type},
                      {"rows", layer.rows},
                      {"cols", layer.cols},
                      {"bytes", layer.bytes}});
  }
  Json units = Json::array();
  for (const v0::SensitiveUnit& unit : found.units) {
    units.push_back({{"layers", unit.layers}, {"may_change", unit.may_change}});
  }
  Json choices = Json::array();
  for (const v0::ChoiceSensitivity& choice : found.choices) {
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

std::string to_json(const Sensitivity& sensitivity) { return dump(sensitivity_json(sensitivity)); }

}  // namespace halftone::report
