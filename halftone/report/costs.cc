// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/costs.h"

#include <fmt/format.h>

#include <utility>

#include "halftone/report/table.h"

namespace halftone::report {

using compress::Measure;

std::string loss_text(double loss) { return fmt::format("{:.3g}", loss); }

std::string value_text(Measure measure, double value) {
  return measure == Measure::kLoss ? loss_text(value)
         : measure == Measure::kBytes || measure == Measure::kInstructions
             ? fmt::format("{:.0f}", value)
             : fmt::format("{:.4g}", value);
}

std::vector<Measure> known_measures(const v0::NetworkCosts& costs) {
  std::vector<Measure> known = {Measure::kLoss, Measure::kBytes};
  if (costs.us) known.push_back(Measure::kTime);
  if (costs.pj) known.push_back(Measure::kEnergy);
  if (costs.instructions) known.push_back(Measure::kInstructions);
  return known;
}

std::string value_text(Measure measure, const v0::NetworkCosts& costs) {
  return value_text(measure, measure == Measure::kLoss     ? costs.loss
                             : measure == Measure::kBytes  ? costs.bytes
                             : measure == Measure::kTime   ? costs.us.value_or(0)
                             : measure == Measure::kEnergy ? costs.pj.value_or(0)
                                                           : costs.instructions.value_or(0));
}

ResultFields costs_fields(const v0::NetworkCosts& costs) {
  return {{"loss", costs.loss},
          {"bytes", costs.bytes, "Of the file"},
          {"us", or_null(costs.us), "Microseconds for a sample; null: not measured"},
          {"pj", or_null(costs.pj), "Picojoules, of described hardware; null: not estimated"},
          {"instructions", or_null(costs.instructions),
           "Of the C program for a sample, an estimate; null: not counted"}};
}

std::string front_text(const std::vector<v0::NetworkCosts>& front) {
  if (front.empty()) return "";
  std::vector<Table::Column> columns;
  const std::vector<Measure> measures = known_measures(front.front());
  for (const Measure measure : measures) columns.push_back({std::string(to_string(measure))});
  Table table(std::move(columns));
  for (const v0::NetworkCosts& each : front) {
    std::vector<std::string> row;
    for (const Measure measure : measures) row.push_back(value_text(measure, each));
    table.add_row(std::move(row));
  }
  return "\nPareto front, predicted:\n\n" + table.to_text();
}

}  // namespace halftone::report
