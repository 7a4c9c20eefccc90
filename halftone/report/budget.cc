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

/// "flash" of bytes that are no file's.
std::string name_of(const BudgetReport& report, Measure measure) {
  const bool is_flash = measure == Measure::kBytes && report.firmware.limits_flash;
  return is_flash ? "flash" : std::string(to_string(measure));
}

std::string budget_text(const BudgetReport& report) {
  std::string text;
  const auto add = [&](const std::string& name, Measure measure, double limit) {
    text += fmt::format("{}{} <= {}", text.empty() ? "" : ", ", name, value_text(measure, limit));
  };
  for (const Measure measure : compress::kMeasures) {
    if (report.budget[measure]) add(name_of(report, measure), measure, *report.budget[measure]);
  }
  if (report.firmware.ram) add("ram", Measure::kBytes, *report.firmware.ram);
  return text;
}

std::string tries_table(const BudgetReport& report) {
  std::vector<Table::Column> columns = {{"try"}};
  const std::vector<Measure> measures = known_measures(report.tries.front().measured);
  for (const Measure measure : measures) {
    columns.push_back({name_of(report, measure) + " predicted"});
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

ResultFields try_fields(const v0::BudgetTry& each) {
  return {{"predicted", json_of(costs_fields(each.predicted)), "From the sensitivity"},
          {"measured", json_of(costs_fields(each.measured))},
          {"within", each.within, "Whether what was measured is within the budget"},
          {"optimal", each.optimal,
           "False: there are too many choices to know that none is predicted to be better"}};
}

ResultFields chosen_layer_fields(const v0::ChosenLayer& layer) {
  return {{"layer", layer.name},
          {"choice", layer.choice},
          {"may_change", layer.may_change, "False: the recipe says what it has"}};
}

/// What a report has beside that of the network.
ResultFields budget_fields(const BudgetReport& report) {
  Json budget = Json::object();
  for (const Measure measure : compress::kMeasures) {
    if (report.budget[measure]) budget[name_of(report, measure)] = *report.budget[measure];
  }
  if (report.firmware.ram) budget["ram"] = *report.firmware.ram;
  return {{"budget", budget,
           "The limits: of \"loss\", \"bytes\", \"us\", \"pj\", \"instructions\", \"flash\" and "
           "\"ram\""},
          {"chosen", json_of(costs_fields(report.tries[report.chosen].measured)),
           "What was measured of the network; with a limit on flash, bytes are those of flash"},
          {"ram_bytes", or_null(report.ram_bytes),
           "Of the arena as C; None without a limit on the program"},
          {"core", report.firmware.any() ? Json(report.firmware.core) : Json(),
           "Processor of the C program; None without a limit on it"},
          {"choices", rows_json(report.choices, chosen_layer_fields), "What each layer has got"},
          {"tries", rows_json(report.tries, try_fields),
           "The networks that were quantized, one of which is the result"},
          {"front", rows_json(report.front, costs_fields),
           "Predicted networks that none beats in both loss and size, the smallest first"},
          {"sensitivity", sensitivity_json(report.costs), "By which the layers got their bits"},
          {"recipe", report.recipe, "In TOML: quantize() makes the same network with it"}};
}

}  // namespace

std::string to_text(const BudgetReport& report) {
  return to_text(report.quantized) +
         fmt::format("\nBudget: {}; the least {}. Loss: {}, on {} samples.\n\n{}",
                     budget_text(report), to_string(objective_of(report.budget)),
                     loss_meaning(report.costs), report.costs.samples, tries_table(report)) +
         (report.ram_bytes ? fmt::format("\nAs C for {} it takes {} bytes of RAM.\n",
                                         report.firmware.core, *report.ram_bytes)
                           : "") +
         front_text(report.front) + samples_note(report.costs);
}

std::string to_json(const BudgetReport& report) {
  Json json = Json::parse(to_json(report.quantized));
  json.update(json_of(budget_fields(report)));
  return dump(json);
}

ResultClasses budget_results() {
  BudgetReport report;
  report.tries.resize(1);
  return {{"BudgetTry", try_fields({})},
          {"ChosenLayer", chosen_layer_fields({})},
          {"BudgetReport", budget_fields(report)}};
}

}  // namespace halftone::report
