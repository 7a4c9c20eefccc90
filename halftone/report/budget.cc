// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/budget.h"

#include <fmt/format.h>

#include <string>
#include <utility>
#include <vector>

#include "halftone/report/costs.h"
#include "halftone/report/report.h"
#include "halftone/report/sensitivity.h"
#include "halftone/report/table.h"

namespace halftone::report {
namespace {

using compress::Measure;

std::string budget_text(const compress::Budget& budget) {
  std::string text;
  for (const Measure measure : compress::kMeasures) {
    if (!budget[measure]) continue;
    text += fmt::format("{}{} <= {}", text.empty() ? "" : ", ", to_string(measure),
                        value_text(measure, *budget[measure]));
  }
  return text;
}

std::string tries_table(const BudgetReport& report) {
  std::vector<Table::Column> columns = {{"try"}};
  const std::vector<Measure> measures = known_measures(report.tries.front().measured);
  for (const Measure measure : measures) {
    columns.push_back({std::string(to_string(measure)) + " predicted"});
    columns.push_back({"measured"});
  }
  columns.push_back({"", Table::Align::kLeft});
  Table table(std::move(columns));
  for (std::size_t i = 0; i < report.tries.size(); ++i) {
    const v0::BudgetTry& each = report.tries[i];
    std::vector<std::string> row = {std::to_string(i + 1)};
    for (const Measure measure : measures) {
      row.push_back(value_text(measure, each.predicted));
      row.push_back(value_text(measure, each.measured));
    }
    row.push_back(i == report.chosen ? "chosen" : each.within ? "" : "beyond the budget");
    table.add_row(std::move(row));
  }
  return table.to_text();
}

}  // namespace

std::string to_text(const BudgetReport& report) {
  return to_text(report.quantized) +
         fmt::format("\nBudget: {}; the least {}. Loss: {}, on {} samples.\n\n{}",
                     budget_text(report.budget), to_string(objective_of(report.budget)),
                     loss_meaning(report.costs), report.costs.samples, tries_table(report)) +
         front_text(report.front) + samples_note(report.costs);
}

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
