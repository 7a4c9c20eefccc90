// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <vector>

#include "halftone/report/costs.h"
#include "halftone/report/fields.h"
#include "halftone/report/sensitivity.h"

namespace halftone::report {
namespace {

using v0::Sensitivity;

ResultFields sensitive_layer_fields(const v0::SensitiveLayer& layer) {
  return {{"name", layer.name, "Of a matrix as in GGUF files"},
          {"operator", layer.op, "Of a network; empty for a matrix"},
          {"float_bytes", layer.float_bytes, "Of the float weights"},
          {"type", layer.type, "Of the weights before, such as \"F32\""},
          {"rows", layer.rows, "Of the weights as a matrix"},
          {"cols", layer.cols},
          {"bytes", layer.bytes, "Of the weights in this type"}};
}

ResultFields sensitive_unit_fields(const v0::SensitiveUnit& unit) {
  return {{"layers", unit.layers, "Indices, ascending"},
          {"may_change", unit.may_change,
           "False: the recipe gives its layers the same in each choice"}};
}

ResultFields layer_choice_fields(const v0::LayerSensitivity& layer) {
  return {{"weight_bits", bits_json(layer.weight_bits), "Of a type with its share of the scales"},
          {"activation_bits", layer.activation_bits},
          {"bytes", layer.bytes, "Of its weights and their levels"},
          {"sqnr_db", or_null(layer.sqnr_db),
           "Of its output, if it is the only quantized layer; null: no error, or not measured"},
          {"accumulated_sqnr_db", or_null(layer.accumulated_sqnr_db),
           "The same if all layers have this choice"},
          {"weighted_error", layer.weighted_error,
           "Estimate of the loss if it is the only quantized layer"},
          {"loss", layer.weighted_error, "The same"},
          {"us", or_null(layer.us), "Microseconds for a sample; null: not measured"},
          {"pj", or_null(layer.pj), "Picojoules, of described hardware; null: not estimated"},
          {"instructions", or_null(layer.instructions),
           "Of the C program for a sample, an estimate; null: not counted"}};
}

ResultFields unit_choice_fields(const v0::UnitSensitivity& unit) {
  return {{"bytes", unit.bytes, "Of weights and levels; shared weights count once"},
          {"loss", unit.loss,
           "If its layers are the only quantized ones; of a language model predicted"},
          {"accumulated_loss", or_null(unit.accumulated_loss),
           "If all before are quantized too; null: not measured"}};
}

/// Layers and units that do not have the choice are null.
ResultFields choice_fields(const Sensitivity& found, const v0::ChoiceSensitivity& choice) {
  const std::vector<std::size_t> unit_of = units_of_layers(found);
  Json layers = Json::array();
  for (std::size_t i = 0; i < choice.layers.size(); ++i) {
    const bool is_possible = choice.units[unit_of[i]].is_possible;
    layers.push_back(is_possible ? json_of(layer_choice_fields(choice.layers[i])) : Json());
  }
  Json units = Json::array();
  for (const v0::UnitSensitivity& unit : choice.units) {
    units.push_back(unit.is_possible ? json_of(unit_choice_fields(unit)) : Json());
  }
  const ChoiceTotals totals = totals_of(found, choice);
  return {{"name", choice.name},
          {"weight_bits", totals.weight_bits ? bits_json(*totals.weight_bits) : Json(),
           "Mean over the weights; null: no layer has this choice"},
          {"bytes", totals.bytes, "Of the layers that have it"},
          {"loss", totals.loss, "The sum of the losses of single units"},
          {"us", or_null(choice.us), "Microseconds of the whole network for a sample"},
          {"pj", or_null(choice.pj), "Picojoules likewise"},
          {"instructions", or_null(choice.instructions),
           "Of the C program of the whole network for a sample; null: not counted"},
          {"layers", layers, "In the order of the layers of the network; null: not this choice"},
          {"units", units, "Likewise"}};
}

ResultFields sensitivity_fields(const Sensitivity& found) {
  const auto fields_of = [&](const auto& choice) { return choice_fields(found, choice); };
  return {{"loss", found.loss, "What is measured: \"kl\", \"error\" or \"labels\""},
          {"weighted_by", found.weighted_by,
           "How the errors of layers are weighted: by \"gradients\" or \"noise\""},
          {"samples", found.samples, "On which losses were measured or predicted"},
          {"tokens", or_null(found.tokens), "Of each sample, of a language model"},
          {"on_fit_samples", found.on_fit_samples,
           "Whether these are known to be those of the fit, on which losses are lower"},
          {"model_loss", or_null(found.model_loss),
           "Of a language model itself on them: mean of -log p in nats per token"},
          {"warnings", found.warnings, "A line each, such as samples that were left out"},
          {"layers", rows_json(found.layers, sensitive_layer_fields), "In order of execution"},
          {"units", rows_json(found.units, sensitive_unit_fields),
           "Layers that get one choice together"},
          {"choices", rows_json(found.choices, fields_of),
           "As given; the types of a language model by rising bits"}};
}

}  // namespace

Json sensitivity_json(const Sensitivity& found) { return json_of(sensitivity_fields(found)); }

std::string to_json(const Sensitivity& sensitivity) { return dump(sensitivity_json(sensitivity)); }

ResultClasses sensitivity_results() {
  return {
      {"NetworkCosts", costs_fields({})},           {"SensitiveLayer", sensitive_layer_fields({})},
      {"SensitiveUnit", sensitive_unit_fields({})}, {"LayerSensitivity", layer_choice_fields({})},
      {"UnitSensitivity", unit_choice_fields({})},  {"ChoiceSensitivity", choice_fields({}, {})},
      {"Sensitivity", sensitivity_fields({})}};
}

}  // namespace halftone::report
