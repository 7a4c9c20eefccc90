// SPDX-License-Identifier: Apache-2.0
#include "halftone/report/sensitivity.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <vector>

#include "halftone/report/report.h"
#include "halftone/report/table.h"

namespace halftone::report {
namespace {

using Align = Table::Align;
using compress::ChoiceSensitivity;
using compress::LayerSensitivity;
using compress::Measure;
using compress::Sensitivity;

/// What to know of the samples that losses are measured on.
std::string samples_note(const Sensitivity& found) {
  return found.on_fit_samples
             ? fmt::format(
                   "\nThese are the samples of the fit, so losses on others are higher; {}.\n",
                   found.tokens ? "--held-out keeps others" : "--test-data measures on others")
             : "";
}

std::string loss_text(double loss) { return fmt::format("{:.3g}", loss); }

std::string cost_text(const std::optional<double>& cost) {
  return cost ? fmt::format("{:.4g}", *cost) : "-";
}

std::string loss_meaning(const Sensitivity& found) {
  if (found.tokens) return "predicted KL divergence from the model, nats per token";
  switch (compress::loss_named(found.loss)) {
    case compress::LossKind::kDivergence:
      return "KL divergence from the float network, nats per sample";
    case compress::LossKind::kError:
      return "squared error of the outputs, relative to those of the float network";
    case compress::LossKind::kLabels:
      return "cross entropy with the labels above that of the float network";
  }
  return "";
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
    const compress::SensitiveLayer& first = found.layers[layers[0]];
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
      const compress::UnitSensitivity& unit = choice.units[u];
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

std::string decibels_text(const std::optional<double>& decibels) {
  return decibels ? format_number(*decibels, 1) : "-";
}

std::string choice_table(const Sensitivity& found, const ChoiceSensitivity& choice) {
  std::vector<Table::Column> columns = {
      {"layer", Align::kLeft}, {"bits"},       {"bytes"},     {"dB alone"},
      {"dB in order"},         {"loss alone"}, {"estimated"}, {"loss up to here"}};
  if (is_timed(found)) columns.push_back({"us"});
  if (has_energy(found)) columns.push_back({"pJ"});
  Table table(std::move(columns));
  const std::vector<std::size_t> units = units_of_layers(found);
  for (std::size_t i = 0; i < found.layers.size(); ++i) {
    const LayerSensitivity& layer = choice.layers[i];
    const compress::UnitSensitivity& unit = choice.units[units[i]];
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
    table.add_row(std::move(row));
  }
  std::string text = fmt::format("\n{}, bits of weights/inputs", choice.name);
  if (choice.us) text += fmt::format(", whole network {:.4g} us", *choice.us);
  if (choice.pj) text += fmt::format(", {:.4g} pJ", *choice.pj);
  return text + "\n\n" + table.to_text();
}

std::string value_text(Measure measure, double value) {
  return measure == Measure::kLoss    ? loss_text(value)
         : measure == Measure::kBytes ? fmt::format("{:.0f}", value)
                                      : fmt::format("{:.4g}", value);
}

/// The measures that are known of all.
std::vector<Measure> known_measures(const v0::NetworkCosts& costs) {
  std::vector<Measure> known = {Measure::kLoss, Measure::kBytes};
  if (costs.us) known.push_back(Measure::kTime);
  if (costs.pj) known.push_back(Measure::kEnergy);
  return known;
}

std::string value_text(Measure measure, const v0::NetworkCosts& costs) {
  return value_text(measure, measure == Measure::kLoss    ? costs.loss
                             : measure == Measure::kBytes ? costs.bytes
                             : measure == Measure::kTime  ? costs.us.value_or(0)
                                                          : costs.pj.value_or(0));
}

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
  columns.push_back({"", Align::kLeft});
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
    const compress::UnitSensitivity& unit = choice.units[u];
    if (!unit.is_possible) continue;
    totals.bytes += unit.bytes;
    totals.loss += unit.loss;
    for (const std::size_t layer : found.units[u].layers) {
      const compress::SensitiveLayer& matrix = found.layers[layer];
      const double size = static_cast<double>(matrix.rows) * static_cast<double>(matrix.cols);
      ++totals.layers;
      weights += size;
      bits += size * choice.layers[layer].weight_bits;
    }
  }
  if (weights > 0) totals.weight_bits = bits / weights;
  return totals;
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

std::string to_text(const BudgetReport& report) {
  return to_text(report.quantized) +
         fmt::format("\nBudget: {}; the least {}. Loss: {}, on {} samples.\n\n{}",
                     budget_text(report.budget), to_string(objective_of(report.budget)),
                     loss_meaning(report.costs), report.costs.samples, tries_table(report)) +
         front_text(report.front) + samples_note(report.costs);
}

}  // namespace halftone::report
