// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/sensitivity_state.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "halftone/base/error.h"
#include "halftone/base/file.h"

namespace halftone {
namespace {

using StateJson = nlohmann::ordered_json;
using compress::ChoiceSensitivity;
using compress::LayerSensitivity;

constexpr const char* kStateKind = "halftone layer sensitivities";

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

}  // namespace

SensitivityState::SensitivityState(std::filesystem::path path, std::string key, bool writes)
    : path_(std::move(path)), key_(std::move(key)), writes_(writes) {
  if (std::filesystem::exists(path_)) with_context(path_.string(), [&] { read(); });
}

void SensitivityState::read() {
  const std::vector<std::byte> bytes = read_file(path_);
  const char* text = reinterpret_cast<const char*>(bytes.data());
  const StateJson json = StateJson::parse(text, text + bytes.size(), nullptr, false);
  try {
    if (json.is_discarded() || json.at("kind") != kStateKind) {
      fail(ErrorKind::kFormat, "expected the state of sensitivities, found something else");
    }
    if (json.at("key") != key_) {
      fail(ErrorKind::kFormat,
           "is the state of another network, data, recipe, seed or kind of costs: name another "
           "file");
    }
    for (const auto& [name, choice] : json.at("choices").items()) {
      choices_[name] = from_state(name, choice);
    }
  } catch (const StateJson::exception&) {
    fail(ErrorKind::kFormat, "expected the state of sensitivities, found something else");
  }
}

std::optional<ChoiceSensitivity> SensitivityState::find(const std::string& choice) const {
  const auto found = choices_.find(choice);
  return found == choices_.end() ? std::nullopt : std::optional(found->second);
}

void SensitivityState::add(const ChoiceSensitivity& choice) {
  choices_[choice.name] = choice;
  if (writes_) write_file(path_, text());
}

std::string SensitivityState::text() const {
  StateJson choices = StateJson::object();
  for (const auto& [name, choice] : choices_) choices[name] = to_state(choice);
  const StateJson json = {{"kind", kStateKind}, {"key", key_}, {"choices", choices}};
  return json.dump(1, ' ', false, StateJson::error_handler_t::replace) + "\n";
}

}  // namespace halftone
