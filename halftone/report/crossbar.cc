// SPDX-License-Identifier: Apache-2.0
// Results of networks on crossbars.
#include "halftone/report/crossbar.h"

#include <fmt/format.h>

#include <array>
#include <cmath>

#include "halftone/report/fields.h"
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
  for (const LayerUse& use : layers) {
    if (!use.digital.empty()) continue;
    add({clipped(use.name), use.op, std::to_string(use.inputs), std::to_string(use.outputs),
         fmt::format("{}, {}", use.weight_bits, use.input_bits)},
        use);
  }
  add({"all, per sample", "", "", "", ""}, total_of(layers));
  return table.to_text() + digital_lines(layers);
}

/// @param is_digital  nothing but why
ResultFields crossbar_layer_fields(const LayerUse& use, bool is_digital) {
  ResultFields fields = {{"name", use.name},
                         {"operator", use.op},
                         {"digital", or_null(use.digital),
                          "Why the layer is not on arrays; then the rest is missing"}};
  if (is_digital) return fields;
  const ResultFields on_arrays = {
      {"inputs", use.inputs, "Of an output"},
      {"outputs", use.outputs},
      {"weight_bits", use.weight_bits},
      {"input_bits", use.input_bits},
      {"arrays", use.arrays},
      {"cells", use.cells, "Occupied"},
      {"conversions", use.conversions, "Per sample"},
      {"joules", use.joules, "Per sample"},
      {"seconds", use.seconds, "Per sample: of the conversions that follow one another"}};
  fields.insert(fields.end(), on_arrays.begin(), on_arrays.end());
  return fields;
}

ResultFields crossbar_fields(const CrossbarReport& report) {
  const auto& [device, result] = report;
  const LayerUse total = total_of(result.layers);
  const Json described = {{"name", device.name},         {"rows", device.rows},
                          {"columns", device.columns},   {"levels", device.levels},
                          {"adc_bits", device.adc.bits}, {"seconds", device.seconds}};
  return {
      {"device", described},
      {"metric", result.metric, "\"accuracy\" with labels, else \"agreement\""},
      {"samples", result.samples},
      {"digital", or_null(result.digital),
       "The accuracy of the digital network; null without labels"},
      {"mean", result.mean, "Of the values"},
      {"deviation", result.deviation, "The standard deviation of the values"},
      {"values", result.values, "Of each programmed device"},
      {"agreement", result.agreement, "Share of samples with the answer of the digital network"},
      {"equal", result.is_equal, "Whether all outputs have the bits of the digital network"},
      {"arrays", total.arrays, "These and the rest: sums over the layers"},
      {"cells", total.cells},
      {"conversions", total.conversions},
      {"joules", total.joules},
      {"seconds", total.seconds},
      {"layers", layers_json(result.layers)}};
}

}  // namespace

std::string digital_lines(const std::vector<LayerUse>& layers) {
  std::string text;
  for (const LayerUse& use : layers) {
    if (use.digital.empty()) continue;
    text += "digital: " + clipped(use.name) + " (" + use.op + "): " + use.digital + "\n";
  }
  return text;
}

Json layers_json(const std::vector<LayerUse>& layers) {
  return rows_json(
      layers, [](const LayerUse& use) { return crossbar_layer_fields(use, !use.digital.empty()); });
}

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

std::string to_json(const CrossbarReport& report) { return dump(json_of(crossbar_fields(report))); }

ResultClasses crossbar_results() {
  return {{"CrossbarLayer", crossbar_layer_fields({}, false)},
          {"CrossbarReport", crossbar_fields({})}};
}

}  // namespace halftone::report
