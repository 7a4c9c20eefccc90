// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/sensitivity_state.h"

#include <cmath>
#include <limits>
#include <optional>

namespace halftone {
namespace {

using StateJson = StateFile::Json;
using compress::ChoiceSensitivity;
using compress::LayerSensitivity;

/// JSON has no infinity, the SQNR without error.
StateJson decibels(double value) {
  return std::isfinite(value) ? StateJson(value) : StateJson(value > 0 ? "inf" : "-inf");
}

double decibels_of(const StateJson& json) {
  if (json.is_number()) return json.get<double>();
  const double infinity = std::numeric_limits<double>::infinity();
  return json.get<std::string>() == "inf" ? infinity : -infinity;
}

StateJson optional_number(const std::optional<double>& value) {
  return value ? StateJson(*value) : StateJson();
}

std::optional<double> optional_of(const StateJson& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

}  // namespace

StateJson to_state(const ChoiceSensitivity& choice) {
  StateJson layers = StateJson::array();
  for (const LayerSensitivity& layer : choice.layers) {
    layers.push_back({layer.weight_bits, layer.activation_bits, layer.bytes,
                      decibels(layer.sqnr_db), decibels(layer.accumulated_sqnr_db),
                      layer.weighted_error, optional_number(layer.us), optional_number(layer.pj)});
  }
  StateJson units = StateJson::array();
  for (const compress::UnitSensitivity& unit : choice.units) {
    units.push_back({unit.bytes, unit.loss, unit.accumulated_loss});
  }
  return {{"layers", layers},
          {"units", units},
          {"us", optional_number(choice.us)},
          {"pj", optional_number(choice.pj)}};
}

ChoiceSensitivity from_state(const std::string& name, const StateJson& json) {
  ChoiceSensitivity choice{name, {}, {}, optional_of(json.at("us")), optional_of(json.at("pj"))};
  for (const StateJson& each : json.at("layers")) {
    LayerSensitivity layer;
    layer.weight_bits = each.at(0).get<int>();
    layer.activation_bits = each.at(1).get<int>();
    layer.bytes = each.at(2).get<std::size_t>();
    layer.sqnr_db = decibels_of(each.at(3));
    layer.accumulated_sqnr_db = decibels_of(each.at(4));
    layer.weighted_error = each.at(5).get<double>();
    layer.us = optional_of(each.at(6));
    layer.pj = optional_of(each.at(7));
    choice.layers.push_back(layer);
  }
  for (const StateJson& each : json.at("units")) {
    choice.units.push_back(
        {each.at(0).get<std::size_t>(), each.at(1).get<double>(), each.at(2).get<double>()});
  }
  return choice;
}

}  // namespace halftone
