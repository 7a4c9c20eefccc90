// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "halftone/report/page/drawing.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/table.h"

namespace halftone::report::page {
namespace {

std::string picture_of(const SensitivityTable& table) {
  Plot picture{"Loss of each unit by choice", "unit", "loss", {}, false, true};
  for (std::size_t c = 0; c < table.choices.size(); ++c) {
    Series series{table.choices[c], {}};
    for (std::size_t u = 0; u < table.units.size(); ++u) {
      series.points.push_back(
          {static_cast<double>(u + 1), table.units[u].losses[c], table.units[u].name});
    }
    picture.series.push_back(std::move(series));
  }
  return "<figure>" + plot(picture) + "</figure>\n";
}

Json sensitivity_json(const SensitivityTable& table) {
  Json units = Json::array();
  for (const SensitivityTable::Unit& unit : table.units) {
    units.push_back({{"layers", unit.name}, {"losses", unit.losses}, {"bytes", unit.bytes}});
  }
  return {{"file", table.file}, {"loss", table.loss}, {"choices", table.choices}, {"units", units}};
}

}  // namespace

std::string sensitivities_section(const std::vector<SensitivityTable>& tables) {
  std::string result;
  for (const SensitivityTable& found : tables) {
    std::vector<HtmlTable::Column> columns{{"layers", false}};
    for (const std::string& choice : found.choices) columns.push_back({choice});
    HtmlTable table(
        "Loss (" + found.loss + ") with one unit in each choice of codes, of " + found.file,
        std::move(columns));
    for (const SensitivityTable::Unit& unit : found.units) {
      std::vector<Cell> row{Cell::of(unit.name)};
      for (std::size_t c = 0; c < unit.losses.size(); ++c) {
        if (std::isnan(unit.losses[c])) {
          row.push_back({"-", -HUGE_VAL});
          continue;
        }
        row.push_back({fmt::format("{:.4g}", unit.losses[c]),
                       {},
                       format_bytes(static_cast<std::size_t>(std::max(unit.bytes[c], 0.0)))});
      }
      table.add_row(row);
    }
    result += picture_of(found) + table.html();
  }
  return result;
}

Json sensitivities_json(const std::vector<SensitivityTable>& tables) {
  Json list = Json::array();
  for (const SensitivityTable& table : tables) list.push_back(sensitivity_json(table));
  return list;
}

}  // namespace halftone::report::page
