// SPDX-License-Identifier: Apache-2.0
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "halftone/report/explore.h"
#include "halftone/report/fields.h"

namespace halftone::report {
namespace {

/// "2/4 8/8": bits of weights and of inputs, layer by layer.
std::string bits_text(const std::vector<accel::BitPair>& bits) {
  std::string text;
  for (const accel::BitPair& each : bits) {
    text += (text.empty() ? "" : " ") + std::to_string(each.weights) + "/" +
            std::to_string(each.inputs);
  }
  return text;
}

ResultFields design_fields(const accel::Design& design) {
  return {{"hardware", design.hardware, "Index of the combination of the parameters of the space"},
          {"bits", bits_text(design.bits), "Of weights and of inputs, of each layer: \"2/4 8/8\""},
          {"seconds", design.seconds},
          {"energy_joules", design.energy_j},
          {"area_mm2", design.area_mm2},
          {"noise", design.noise, "Predicted: the sum over layers"},
          {"predicted_drop", design.drop, "Of accuracy, from the noise"}};
}

ResultFields verified_fields(const VerifiedDesign& each) {
  ResultFields fields = design_fields(each.design);
  fields.push_back({"measured_noise", each.measured_noise});
  fields.push_back({"measured_drop", each.measured_drop, "Of accuracy"});
  fields.push_back(
      {"drop_standard_error", each.drop_standard_error, "The budget limits the drop with it"});
  return fields;
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
  Json json = json_of(verified_fields(report.verified[report.chosen]));
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

ResultFields explore_fields(const ExploreReport& report) {
  const accel::Exploration& search = report.search;
  return {
      {"kind", "estimate"},
      {"workload", report.network},
      {"model", to_string(report.options.model), "How closely hardware is modelled"},
      {"objective", to_string(report.options.objective)},
      {"budget", budget_json(report.options.budget)},
      {"has_labels", report.has_labels},
      {"fit_samples", report.fit_samples},
      {"judged_samples", report.judged_samples, "On which losses were measured"},
      {"judged_on", report.judged_on, "Where they are from"},
      {"hardware", search.num_hardware, "Combinations of the parameters of the space"},
      {"hardware_within_budget", search.num_within},
      {"designs", search.num_designs, "Combinations of hardware and bits that the search compared"},
      {"layers", search.layers, "Whose bits were chosen"},
      {"chosen", chosen_json(report)},
      {"verified", rows_json(report.verified, verified_fields),
       "In the order in which they were tried"},
      {"front", rows_json(search.front, design_fields),
       "Designs that no other one beats in objective, noise and area; ascending objective"},
      {"sensitivities", sensitivities_json(report.sensitivities)}};
}

}  // namespace

std::string to_json(const ExploreReport& report) { return dump(json_of(explore_fields(report))); }

ResultClasses explore_results() {
  ExploreReport report;
  report.verified.resize(1);
  return {{"HardwareDesign", design_fields({})},
          {"VerifiedDesign", verified_fields({})},
          {"ExploreReport", explore_fields(report)}};
}

}  // namespace halftone::report
