// SPDX-License-Identifier: Apache-2.0
// Results of networks on crossbars.
#include <fmt/format.h>

#include <array>
#include <cmath>

#include "halftone/report/json.h"
#include "halftone/report/report.h"
#include "halftone/report/table.h"

namespace halftone::report {
namespace {

using crossbar::LayerUse;

/// "1.2 uJ": three digits with a prefix.
std::string with_prefix(double value, const char* unit) {
  constexpr std::array kPrefixes = {"", "m", "u", "n", "p", "f"};
  std::size_t i = 0;
  while (value != 0 && value < 1 && i + 1 < kPrefixes.size()) {
    value *= 1000;
    ++i;
  }
  return fmt::format("{:.3g} {}{}", value, kPrefixes[i], unit);
}

LayerUse total_of(const std::vector<LayerUse>& layers) {
  LayerUse total;
  for (const LayerUse& layer : layers) {
    total.arrays += layer.arrays;
    total.cells += layer.cells;
    total.conversions += layer.conversions;
    total.joules += layer.joules;
    total.seconds += layer.seconds;
  }
  return total;
}

std::vector<std::string> cells_of(const LayerUse& use) {
  return {std::to_string(use.arrays), std::to_string(use.cells),
          fmt::format("{:.0f}", use.conversions), with_prefix(use.joules, "J"),
          with_prefix(use.seconds, "s")};
}

std::string layer_table(const std::vector<LayerUse>& layers) {
  Table table({{"layer", Table::Align::kLeft},
               {"operator", Table::Align::kLeft},
               {"inputs"},
               {"outputs"},
               {"bits w, x"},
               {"arrays"},
               {"cells"},
               {"conversions"},
               {"energy"},
               {"time"}});
  const auto add = [&](std::vector<std::string> row, const LayerUse& use) {
    for (std::string& cell : cells_of(use)) row.push_back(std::move(cell));
    table.add_row(std::move(row));
  };
  std::string digital;
  for (const LayerUse& use : layers) {
    if (!use.digital.empty()) {
      digital += "digital: " + clipped(use.name) + " (" + use.op + "): " + use.digital + "\n";
      continue;
    }
    add({clipped(use.name), use.op, std::to_string(use.inputs), std::to_string(use.outputs),
         fmt::format("{}, {}", use.weight_bits, use.input_bits)},
        use);
  }
  add({"all, per sample", "", "", "", ""}, total_of(layers));
  return table.to_text() + digital;
}

Json layer_json(const LayerUse& use) {
  Json json = {{"name", use.name}, {"operator", use.op}};
  json["digital"] = use.digital.empty() ? Json() : Json(use.digital);
  if (!use.digital.empty()) return json;
  json.update({{"inputs", use.inputs},
               {"outputs", use.outputs},
               {"weight_bits", use.weight_bits},
               {"input_bits", use.input_bits},
               {"arrays", use.arrays},
               {"cells", use.cells},
               {"conversions", use.conversions},
               {"joules", use.joules},
               {"seconds", use.seconds}});
  return json;
}

}  // namespace

std::string to_text(const CrossbarReport& report) {
  const auto& [device, result] = report;
  std::string text = fmt::format(
      "{}: arrays of {} x {} cells with {} levels, {}-bit converters, {:g} s after programming\n",
      device.name, device.rows, device.columns, device.levels, device.adc.bits, device.seconds);
  text +=
      fmt::format("{} {:.2f} % of {} samples", result.metric, 100 * result.mean, result.samples);
  if (result.values.size() > 1) {
    text += fmt::format(", standard deviation {:.2f} over {} devices", 100 * result.deviation,
                        result.values.size());
  }
  if (result.digital) text += fmt::format("; digital network {:.2f} %", 100 * *result.digital);
  text += result.is_equal ? "\nall outputs equal those of the digital network\n"
                          : fmt::format("\nsame answer as the digital network {:.2f} %\n",
                                        100 * result.agreement);
  return text + "\n" + layer_table(result.layers);
}

std::string to_json(const CrossbarReport& report) {
  const auto& [device, result] = report;
  Json layers = Json::array();
  for (const LayerUse& use : result.layers) layers.push_back(layer_json(use));
  const LayerUse total = total_of(result.layers);
  return dump({{"device",
                {{"name", device.name},
                 {"rows", device.rows},
                 {"columns", device.columns},
                 {"levels", device.levels},
                 {"adc_bits", device.adc.bits},
                 {"seconds", device.seconds}}},
               {"metric", result.metric},
               {"samples", result.samples},
               {"digital", result.digital ? Json(*result.digital) : Json()},
               {"mean", result.mean},
               {"deviation", result.deviation},
               {"values", result.values},
               {"agreement", result.agreement},
               {"equal", result.is_equal},
               {"arrays", total.arrays},
               {"cells", total.cells},
               {"conversions", total.conversions},
               {"joules", total.joules},
               {"seconds", total.seconds},
               {"layers", layers}});
}

}  // namespace halftone::report
