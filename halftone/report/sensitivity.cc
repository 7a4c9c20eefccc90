// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "halftone/report/costs.h"
#include "halftone/report/table.h"

namespace halftone::report {
namespace {

using Align = Table::Align;
using v0::ChoiceSensitivity;
using v0::LayerSensitivity;
using v0::Sensitivity;

std::string cost_text(const std::optional<double>& cost) {
  return cost ? fmt::format("{:.4g}", *cost) : "-";
}

/// The name of a unit: its first layer and how many follow.
std::string unit_name(const Sensitivity& found, std::size_t unit) {
  const std::vector<std::size_t>& layers = found.units[unit].layers;
  const std::string& first = found.layers[layers[0]].name;
  return clipped(first) + (layers.size() == 1 ? "" : fmt::format(" + {}", layers.size() - 1));
}

/// The loss of each unit alone in each choice: what a reader looks at first. Networks have
/// operators, language models matrices in several types.
std::string overview(const Sensitivity& found) {
  std::vector<Table::Column> columns = {{"layer", Align::kLeft}};
  if (found.tokens) {
    columns.insert(columns.end(), {{"rows x columns"}, {"type", Align::kLeft}});
  } else {
    columns.push_back({"operator", Align::kLeft});
  }
  columns.push_back({"size"});
  for (const ChoiceSensitivity& choice : found.choices) columns.push_back({choice.name});
  Table table(std::move(columns));
  for (std::size_t u = 0; u < found.units.size(); ++u) {
    const std::vector<std::size_t>& layers = found.units[u].layers;
    const v0::SensitiveLayer& first = found.layers[layers[0]];
    std::vector<std::string> row = {unit_name(found, u)};
    if (found.tokens) {
      row.push_back(fmt::format("{} x {}", first.rows, first.cols));
      row.push_back(first.type);
    } else {
      row.push_back(first.op);
    }
    std::size_t bytes = 0;
    for (const std::size_t layer : layers) bytes += found.layers[layer].bytes;
    row.push_back(format_bytes(bytes));
    for (const ChoiceSensitivity& choice : found.choices) {
      const v0::UnitSensitivity& unit = choice.units[u];
      row.push_back(unit.is_possible ? loss_text(unit.loss) : "-");
    }
    table.add_row(std::move(row));
  }
  return table.to_text();
}

/// All layers in each choice, where nothing else is known of single ones.
std::string totals_table(const Sensitivity& found) {
  Table table({{"type", Align::kLeft}, {"bits"}, {"matrices"}, {"size"}, {"loss of all"}});
  for (const ChoiceSensitivity& choice : found.choices) {
    const ChoiceTotals totals = totals_of(found, choice);
    table.add_row({choice.name, totals.weight_bits ? format_number(*totals.weight_bits, 3) : "-",
                   std::to_string(totals.layers), format_bytes(totals.bytes),
                   loss_text(totals.loss)});
  }
  return "\nAll matrices that a type holds:\n\n" + table.to_text();
}

bool is_timed(const Sensitivity& found) { return found.choices.front().us.has_value(); }
bool has_energy(const Sensitivity& found) { return found.choices.front().pj.has_value(); }
bool is_counted(const Sensitivity& found) { return found.choices.front().instructions.has_value(); }

std::string decibels_text(const std::optional<double>& decibels) {
  return decibels ? format_number(*decibels, 1) : "-";
}

std::string choice_table(const Sensitivity& found, const ChoiceSensitivity& choice) {
  std::vector<Table::Column> columns = {
      {"layer", Align::kLeft}, {"bits"},       {"bytes"},     {"dB alone"},
      {"dB in order"},         {"loss alone"}, {"estimated"}, {"loss up to here"}};
  if (is_timed(found)) columns.push_back({"us"});
  if (has_energy(found)) columns.push_back({"pJ"});
  if (is_counted(found)) columns.push_back({"instructions"});
  Table table(std::move(columns));
  const std::vector<std::size_t> units = units_of_layers(found);
  for (std::size_t i = 0; i < found.layers.size(); ++i) {
    const LayerSensitivity& layer = choice.layers[i];
    const v0::UnitSensitivity& unit = choice.units[units[i]];
    std::vector<std::string> row = {
        clipped(found.layers[i].name),
        fmt::format("{}/{}", layer.weight_bits, layer.activation_bits),
        std::to_string(layer.bytes),
        decibels_text(layer.sqnr_db),
        decibels_text(layer.accumulated_sqnr_db),
        loss_text(unit.loss),
        loss_text(layer.weighted_error),
        unit.accumulated_loss ? loss_text(*unit.accumulated_loss) : "-"};
    if (is_timed(found)) row.push_back(cost_text(layer.us));
    if (has_energy(found)) row.push_back(cost_text(layer.pj));
    if (is_counted(found)) row.push_back(cost_text(layer.instructions));
    table.add_row(std::move(row));
  }
  std::string text = fmt::format("\n{}, bits of weights/inputs", choice.name);
  if (choice.us) text += fmt::format(", whole network {:.4g} us", *choice.us);
  if (choice.pj) text += fmt::format(", {:.4g} pJ", *choice.pj);
  if (choice.instructions) text += fmt::format(", {:.0f} instructions", *choice.instructions);
  return text + "\n\n" + table.to_text();
}

}  // namespace

std::string samples_note(const Sensitivity& found) {
  return found.on_fit_samples
             ? fmt::format(
                   "\nThese are the samples of the fit, so losses on others are higher; {}.\n",
                   found.tokens ? "--held-out keeps others" : "--test-data measures on others")
             : "";
}

std::string loss_meaning(const Sensitivity& found) {
  if (found.tokens) return "predicted KL divergence from the model, nats per token";
  if (found.loss == "kl") return "KL divergence from the float network, nats per sample";
  if (found.loss == "error") {
    return "squared error of the outputs, relative to those of the float network";
  }
  return "cross entropy with the labels above that of the float network";
}

std::vector<std::size_t> units_of_layers(const Sensitivity& found) {
  std::vector<std::size_t> result(found.layers.size(), 0);
  for (std::size_t u = 0; u < found.units.size(); ++u) {
    for (const std::size_t layer : found.units[u].layers) result[layer] = u;
  }
  return result;
}

ChoiceTotals totals_of(const Sensitivity& found, const ChoiceSensitivity& choice) {
  ChoiceTotals totals;
  double bits = 0;
  double weights = 0;
  for (std::size_t u = 0; u < found.units.size(); ++u) {
    const v0::UnitSensitivity& unit = choice.units[u];
    if (!unit.is_possible) continue;
    totals.bytes += unit.bytes;
    totals.loss += unit.loss;
    for (const std::size_t layer : found.units[u].layers) {
      const v0::SensitiveLayer& matrix = found.layers[layer];
      const double size = static_cast<double>(matrix.rows) * static_cast<double>(matrix.cols);
      ++totals.layers;
      weights += size;
      bits += size * choice.layers[layer].weight_bits;
    }
  }
  if (weights > 0) totals.weight_bits = bits / weights;
  return totals;
}

std::string to_text(const Sensitivity& found) {
  std::string text = fmt::format(
      "Loss: {}, on {} samples{}. If one layer (or layers that are tied) has this choice:\n\n{}",
      loss_meaning(found), found.samples,
      found.tokens ? fmt::format(" of {} tokens", *found.tokens) : "", overview(found));
  if (found.tokens) {
    return text + totals_table(found) +
           fmt::format("\nThe model's own loss on these samples: {} nats per token.\n",
                       format_number(found.model_loss.value_or(0), 3)) +
           samples_note(found);
  }
  for (const ChoiceSensitivity& choice : found.choices) text += choice_table(found, choice);
  return text +
         fmt::format("\nestimated: the loss of the layer alone, from its error and {}\n",
                     found.weighted_by == "gradients" ? "gradients" : "noise on its weights") +
         samples_note(found);
}

}  // namespace halftone::report
