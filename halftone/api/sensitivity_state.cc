// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/sensitivity_state.h"

#include <cmath>
#include <limits>
#include <optional>

#include "halftone/base/hash.h"
#include "halftone/compress/input_hash.h"

namespace halftone {
namespace {

template <typename Part>
std::string hash_of(const Part& part) {
  Hash hash;
  compress::add_to_hash(hash, part);
  return hash_text(hash.value());
}

JobIdentity identity_of(const ir::Graph& graph, const data::Dataset& data,
                        const compress::Recipe& rules, const compress::MeasureSettings& options) {
  Hash recipe;
  recipe.add(compress::to_toml(rules));
  const auto loss = options.loss.value_or(compress::default_loss(graph, data));
  return {{"network", hash_of(graph)},
          {"data", hash_of(data)},
          {"test data", options.evaluation ? hash_of(*options.evaluation) : "none"},
          {"recipe", hash_text(recipe.value())},
          {"seed", std::to_string(options.fit.seed)},
          {"loss", std::string(to_string(loss))},
          {"costs", options.costs ? options.costs_name : "none"}};
}

using StateJson = StateFile::Json;
using compress::ChoiceSensitivity;
using compress::LayerSensitivity;

StateJson optional_number(const std::optional<double>& value) {
  return value ? StateJson(*value) : StateJson();
}

std::optional<double> optional_of(const StateJson& json) {
  return json.is_null() ? std::nullopt : std::optional(json.get<double>());
}

/// JSON has no infinity, the SQNR without error.
StateJson decibels(const std::optional<double>& value) {
  if (!value) return {};
  return std::isfinite(*value) ? StateJson(*value) : StateJson(*value > 0 ? "inf" : "-inf");
}

std::optional<double> decibels_of(const StateJson& json) {
  if (!json.is_string()) return optional_of(json);
  const double infinity = std::numeric_limits<double>::infinity();
  return json.get<std::string>() == "inf" ? infinity : -infinity;
}

StateJson to_state(const ChoiceSensitivity& choice) {
  StateJson layers = StateJson::array();
  for (const LayerSensitivity& layer : choice.layers) {
    layers.push_back({layer.weight_bits, layer.activation_bits, layer.bytes,
                      decibels(layer.sqnr_db), decibels(layer.accumulated_sqnr_db),
                      layer.weighted_error, optional_number(layer.us), optional_number(layer.pj)});
    if (layer.instructions) layers.back().push_back(*layer.instructions);
  }
  StateJson units = StateJson::array();
  for (const compress::UnitSensitivity& unit : choice.units) {
    units.push_back({unit.bytes, unit.loss, optional_number(unit.accumulated_loss)});
    if (unit.drop) units.back().push_back(*unit.drop);
  }
  return {{"layers", layers},
          {"units", units},
          {"us", optional_number(choice.us)},
          {"pj", optional_number(choice.pj)},
          {"instructions", optional_number(choice.instructions)}};
}

ChoiceSensitivity from_state(const std::string& name, const StateJson& json) {
  ChoiceSensitivity choice{name, {}, {}, optional_of(json.at("us")), optional_of(json.at("pj")),
                           {}};
  if (json.contains("instructions")) choice.instructions = optional_of(json.at("instructions"));
  for (const StateJson& each : json.at("layers")) {
    LayerSensitivity layer;
    layer.weight_bits = each.at(0).get<double>();
    layer.activation_bits = each.at(1).get<int>();
    layer.bytes = each.at(2).get<std::size_t>();
    layer.sqnr_db = decibels_of(each.at(3));
    layer.accumulated_sqnr_db = decibels_of(each.at(4));
    layer.weighted_error = each.at(5).get<double>();
    layer.us = optional_of(each.at(6));
    layer.pj = optional_of(each.at(7));
    if (each.size() > 8) layer.instructions = each.at(8).get<double>();
    choice.layers.push_back(layer);
  }
  for (const StateJson& each : json.at("units")) {
    choice.units.push_back(
        {each.at(0).get<std::size_t>(), each.at(1).get<double>(), optional_of(each.at(2))});
    if (each.size() > 3) choice.units.back().drop = each.at(3).get<double>();
  }
  return choice;
}

}  // namespace

compress::MeasureSettings with_state(const std::string& what, const ir::Graph& graph,
                                     const data::Dataset& data, const SensitivitySettings& settings,
                                     std::optional<StateFile>& state) {
  compress::MeasureSettings result = settings.options;
  if (settings.state.empty()) return result;
  const spmd::Devices& devices = result.fit.devices;
  state.emplace(settings.state, what, identity_of(graph, data, settings.recipe, result),
                devices.empty() || devices.rank() == 0);
  result.known = [&state](const std::string& choice) {
    return state->find(choice, [&](const StateJson& json) { return from_state(choice, json); });
  };
  result.measured = [&state](const ChoiceSensitivity& choice) {
    state->add(choice.name, to_state(choice));
  };
  return result;
}

}  // namespace halftone
