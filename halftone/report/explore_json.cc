// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "halftone/report/explore.h"
#include "halftone/report/json.h"

namespace halftone::report {
namespace {

template <typename T>
Json or_null(const std::optional<T>& value) {
  return value ? Json(*value) : Json();
}

/// "2/4 8/8": bits of weights and of inputs, layer by layer.
std::string bits_text(const std::vector<accel::BitPair>& bits) {
  std::string text;
  for (const accel::BitPair& each : bits) {
    text += (text.empty() ? "" : " ") + std::to_string(each.weights) + "/" +
            std::to_string(each.inputs);
  }
  return text;
}

Json design_json(const accel::Design& design) {
  return {{"hardware", design.hardware},  {"bits", bits_text(design.bits)},
          {"seconds", design.seconds},    {"energy_joules", design.energy_j},
          {"area_mm2", design.area_mm2},  {"noise", design.noise},
          {"predicted_drop", design.drop}};
}

Json verified_json(const VerifiedDesign& each) {
  Json json = design_json(each.design);
  json["measured_noise"] = each.measured.loss;
  json["measured_drop"] = each.measured.drop;
  json["drop_standard_error"] = each.drop_error;
  return json;
}

Json sensitivities_json(const compress::Sensitivity& losses) {
  Json json = Json::array();
  for (std::size_t i = 0; i < losses.layers.size(); ++i) {
    Json measured = Json::array();
    for (const compress::ChoiceSensitivity& choice : losses.choices) {
      measured.push_back({{"weight_bits", bits_json(choice.layers[i].weight_bits)},
                          {"activation_bits", choice.layers[i].activation_bits},
                          {"noise", choice.units[i].loss},
                          {"drop", or_null(choice.units[i].drop)}});
    }
    json.push_back({{"layer", losses.layers[i].name}, {"measured", measured}});
  }
  return json;
}

Json chosen_json(const ExploreReport& report) {
  Json json = verified_json(report.verified[report.chosen]);
  json["is_within_budget"] = report.is_within;
  Json settings = Json::object();
  for (const accel::Setting& each : report.settings) {
    std::visit([&](const auto& value) { settings[each.key] = value; }, each.value);
  }
  json["settings"] = settings;
  json["network_seconds"] = report.estimate.seconds;
  json["network_energy_joules"] = report.estimate.energy_j;
  return json;
}

Json budget_json(const accel::Budget& budget) {
  return {{"accuracy_drop", budget.accuracy_drop},
          {"area_mm2", or_null(budget.area_mm2)},
          {"seconds", or_null(budget.seconds)},
          {"energy_joules", or_null(budget.energy_j)}};
}

template <typename List, typename ToJson>
Json json_list(const List& list, const ToJson& to_json) {
  Json json = Json::array();
  for (const auto& each : list) json.push_back(to_json(each));
  return json;
}

}  // namespace

std::string to_json(const ExploreReport& report) {
  const accel::Exploration& search = report.search;
  return dump({{"kind", "estimate"},
               {"workload", report.network},
               {"model", to_string(report.options.model)},
               {"objective", to_string(report.options.objective)},
               {"budget", budget_json(report.options.budget)},
               {"has_labels", report.has_labels},
               {"fit_samples", report.fit_samples},
               {"judged_samples", report.judged_samples},
               {"judged_on", report.judged_on},
               {"hardware", search.num_hardware},
               {"hardware_within_budget", search.num_within},
               {"designs", search.num_designs},
               {"layers", search.layers},
               {"chosen", chosen_json(report)},
               {"verified", json_list(report.verified, verified_json)},
               {"front", json_list(search.front, design_json)},
               {"sensitivities", sensitivities_json(report.sensitivities)}});
}

}  // namespace halftone::report
