// SPDX-License-Identifier: Apache-2.0
// The table of layers.
#include <fmt/format.h>

#include <algorithm>

#include "halftone/report/page/drawing.h"
#include "halftone/report/page/heat.h"
#include "halftone/report/page/html.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/table.h"
#include "halftone/report/units.h"

namespace halftone::report::page {
namespace {

// Explained at the head of a column and below the table.
constexpr const char* kWeightsText =
    "signal to noise of the weights, in dB: what rounding them to codes costs";
constexpr const char* kAloneText =
    "signal to noise of the layer's output, in dB, if its input is that of the reference: the "
    "error of this layer";
constexpr const char* kAccumulatedText = "the same after all layers before it: what arrives here";
constexpr const char* kLossText =
    "estimate of what the network loses if this layer is the only one in codes";

/// What the table of layers has columns for.
struct LayerTable {
  explicit LayerTable(const ModelReport& of) : report(of), network(of.model) {
    for (const LayerFigures& layer : network.layers) {
      has_errors = has_errors || layer.error.has_value();
      has_losses = has_losses || layer.loss.has_value();
      max_bytes = std::max(max_bytes, static_cast<double>(layer.info.weight_bytes));
      max_loss = std::max(max_loss, layer.loss.value_or(0));
      max_us = std::max(max_us, time_of(network, layer).value_or(0));
    }
  }
  const ModelReport& report;
  const NetworkFigures& network;
  bool has_errors = false;
  bool has_losses = false;
  double max_bytes = 0;
  double max_loss = 0;
  double max_us = 0;
};

/// The kernels that were not chosen.
std::string refusals_html(const runtime::PlanStep& step) {
  std::string list;
  for (const runtime::Refusal& refusal : step.refused) {
    list += "<br>not " + markup(refusal.kernel) + ": " + markup(refusal.reason);
  }
  return list;
}

Cell time_cell(const LayerTable& table, const LayerFigures& layer) {
  const std::optional<double> own = time_of(table.network, layer);
  Cell cell = Cell::number(own, 2).with_bar(own, table.max_us);
  if (!is_slow(table.report, layer)) return cell;
  cell.html = "<b class=slow>" + cell.html + " ▲</b>";
  cell.title =
      fmt::format("slower than in float32: {:.2f} us", *float_time_of(table.report, layer));
  return cell;
}

std::vector<HtmlTable::Column> columns_of(const LayerTable& table) {
  std::vector<HtmlTable::Column> columns{
      {"layer", false}, {"operator", false},   {"system", false}, {"bits"},
      {"input bits"},   {"arithmetic", false}, {"bytes"}};
  if (table.has_errors) {
    columns.push_back({"weights dB", true, kWeightsText});
    columns.push_back({"alone dB", true, kAloneText});
    columns.push_back({"accumulated dB", true, kAccumulatedText});
  }
  if (table.has_losses) columns.push_back({"loss", true, kLossText});
  if (table.network.profile) columns.push_back({"median us", true, "time of a run"});
  columns.push_back({"kernel", false});
  columns.push_back({"why", false, "", true});
  return columns;
}

std::vector<Cell> row_of(const LayerTable& table, const LayerFigures& layer, std::size_t index) {
  const LayerInfo& info = layer.info;
  Cell system = Cell::of(system_of(info));
  system.title = info.weights;
  const std::string arithmetic =
      info.arithmetic ? std::string(to_string(*info.arithmetic)) : std::string("-");
  std::vector<Cell> row{layer_cell(table.network, index),
                        Cell::of(info.op),
                        system,
                        {bits_text(info.weight_bits), info.weight_bits},
                        {bits_text(info.activation_bits), info.activation_bits},
                        Cell::of(arithmetic),
                        Cell::bytes(info.weight_bytes)
                            .with_bar(static_cast<double>(info.weight_bytes), table.max_bytes)};
  if (table.has_errors) {
    row.push_back(Cell::number(layer.weight_sqnr_db, 1));
    row.push_back(Cell::number(alone_of(layer), 1));
    row.push_back(Cell::number(accumulated_of(layer), 1));
  }
  if (table.has_losses) {
    Cell cell = Cell::number(layer.loss, 4).with_bar(layer.loss, table.max_loss);
    if (layer.loss) cell.html = fmt::format("{:.2g}", *layer.loss);
    row.push_back(std::move(cell));
  }
  if (table.network.profile) row.push_back(time_cell(table, layer));
  const runtime::PlanStep* step = step_of(table.network, layer);
  row.push_back(Cell::of(step == nullptr ? "-" : step->kernel));
  row.push_back({step == nullptr ? "-" : why_html(*step)});
  return row;
}

/// What the columns mean, where they are printed.
std::string explanations(const LayerTable& table) {
  std::string list;
  const auto add = [&](const char* term, const std::string& text) {
    list += fmt::format("<b>{}</b>: {}. ", term, markup(text));
  };
  if (table.has_errors) {
    add("weights dB", kWeightsText);
    add("alone dB", kAloneText);
    add("accumulated dB", kAccumulatedText);
  }
  if (table.has_losses) {
    const bool is_divergence = table.network.causes && table.network.causes->kind == "kl";
    add("loss", std::string(kLossText) + (is_divergence
                                              ? ": divergence from the reference, in nats a sample"
                                              : ": squared error, relative to the output"));
  }
  if (table.network.profile && table.report.reference) {
    add("▲", "slower than in float32 on this machine");
  }
  if (list.empty()) return "";
  const std::string colours = heat_legend(table.has_losses ? "Colour of a layer, by loss"
                                                           : "Colour of a layer, by dB alone");
  return "<p class=\"note wide\">" + list + colours + "</p>\n";
}

}  // namespace

std::string why_html(const runtime::PlanStep& step) {
  if (step.slow.empty() && step.refused.empty()) {
    constexpr std::size_t kMaxShort = 24;  // characters that need no folding
    if (step.reason.size() <= kMaxShort) return markup(step.reason);
  }
  const std::string slow = step.slow.empty() ? "" : "<br>" + markup(step.slow);
  return "<details><summary>why</summary>" + markup(step.reason) + slow + refusals_html(step) +
         "</details>";
}

bool is_in_graph(const NetworkFigures& network, std::size_t layer) {
  return std::ranges::find(network.nodes, std::optional(layer), &NodeFigures::layer) !=
         network.nodes.end();
}

Cell layer_cell(const NetworkFigures& network, std::size_t index) {
  const LayerFigures& layer = network.layers[index];
  const std::string& name = shown_name(layer);
  std::string html = markup(name);
  if (is_in_graph(network, index)) html = fmt::format("<a href=\"#g{}\">{}</a>", index, html);
  return {html, {}, name == layer.info.name ? "" : layer.info.name};
}

std::string layers_section(const ModelReport& report) {
  const LayerTable found(report);
  const bool is_compared = std::ranges::any_of(
      report.model.layers, [](const LayerFigures& layer) { return !layer.reference_name.empty(); });
  HtmlTable table("Layers with weights, in order of execution" +
                      std::string(is_compared ? ", by their names in the reference" : ""),
                  columns_of(found));
  for (std::size_t i = 0; i < report.model.layers.size(); ++i) {
    const LayerFigures& layer = report.model.layers[i];
    table.add_row(row_of(found, layer, i), {fmt::format("l{}", i), heat_of(layer)});
  }
  if (table.empty()) return note("The network has no layers with weights.");
  return explanations(found) + table.html();
}

}  // namespace halftone::report::page
