// SPDX-License-Identifier: Apache-2.0
// Several networks side by side: what dominates what, and their layers.
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

bool has_layer_errors(const NetworkFigures& network) {
  return std::ranges::any_of(network.layers,
                             [](const LayerFigures& layer) { return layer.error.has_value(); });
}

/// The columns of a network in the table of several.
struct Adjacent {
  ShownNetwork role;
  bool with_errors = false;
  bool is_one_of_many = false;  ///< fewer columns

  void add_columns(std::vector<HtmlTable::Column>& columns) const {
    const std::string suffix = std::string(", ") + role.name;
    columns.push_back({"bits" + suffix});
    columns.push_back({"bytes" + suffix});
    if (with_errors) columns.push_back({"alone dB" + suffix});
    if (with_errors && !is_one_of_many) columns.push_back({"accumulated dB" + suffix});
    if (role.network->profile) columns.push_back({"median us" + suffix});
  }

  void add_cells(const LayerFigures* layer, std::vector<Cell>& row) const {
    const Cell none{"-"};
    row.push_back(layer == nullptr
                      ? none
                      : Cell{bits_text(layer->info.weight_bits), layer->info.weight_bits});
    row.push_back(layer == nullptr ? none : Cell::bytes(layer->info.weight_bytes));
    if (with_errors) {
      row.push_back(layer == nullptr ? none : Cell::rounded(alone_of(*layer), 1));
      if (!is_one_of_many) {
        row.push_back(layer == nullptr ? none : Cell::rounded(accumulated_of(*layer), 1));
      }
    }
    if (role.network->profile) {
      row.push_back(layer == nullptr ? none : Cell::rounded(time_of(*role.network, *layer), 2));
    }
  }
};

/// A network by what it takes and what it loses: less is better.
struct Candidate {
  std::string name;
  double bytes = 0;
  std::optional<double> us;
  std::optional<double> wrong;  ///< answers, in percent
};

std::vector<Candidate> networks_of(const ModelReport& report) {
  std::vector<Candidate> list;
  for (const ShownNetwork& role : roles_of(report)) {
    const NetworkFigures& network = *role.network;
    Candidate each{role.name + ": " + network.name,
                   static_cast<double>(network.inspection.file_bytes),
                   {},
                   {}};
    if (network.profile) each.us = network.profile->median_us;
    const bool has_accuracy = network.evaluation && network.evaluation->metric == "accuracy";
    if (has_accuracy) each.wrong = 100 * (1 - network.evaluation->value);
    list.push_back(std::move(each));
  }
  return list;
}

/// Whether another candidate takes no more, loses no more, and is better in one of both.
template <typename Cost>
bool is_dominated(const Candidate& own, const std::vector<Candidate>& all, const Cost& cost) {
  return std::ranges::any_of(all, [&](const Candidate& other) {
    if (!other.wrong || !own.wrong || !cost(other) || !cost(own)) return false;
    const bool is_as_good = *other.wrong <= *own.wrong && *cost(other) <= *cost(own);
    return is_as_good && (*other.wrong < *own.wrong || *cost(other) < *cost(own));
  });
}

template <typename Cost>
std::string front_html(const std::vector<Candidate>& all, const std::string& unit,
                       const Cost& cost) {
  Plot picture{"Wrong answers by " + unit + "; dim: another is better in both",
               unit,
               "wrong answers, %",
               {},
               true,
               true};
  for (const Candidate& each : all) {
    if (!each.wrong || !cost(each)) continue;
    // A logarithmic axis has no zero.
    if (*each.wrong <= 0) picture.log_y = false;
    const std::string title =
        fmt::format("{}: {:.4g} {}, {:.2f} % wrong", each.name, *cost(each), unit, *each.wrong);
    picture.series.push_back({"",
                              {{*cost(each), *each.wrong, title, false, each.name}},
                              false,
                              is_dominated(each, all, cost)});
  }
  return picture.series.size() < 2 ? "" : "<figure>" + plot(picture) + "</figure>\n";
}

std::string fronts_html(const std::vector<Candidate>& all) {
  const std::string fronts =
      front_html(all, "KiB",
                 [](const Candidate& each) { return std::optional(each.bytes / 1024); }) +
      front_html(all, "us", [](const Candidate& each) { return each.us; });
  return fronts.empty() ? "" : "<div class=pair>\n" + fronts + "</div>\n";
}

}  // namespace

std::string beside_section(const ModelReport& report) {
  std::vector<Adjacent> networks;
  for (const ShownNetwork& role : roles_of(report)) {
    // The errors of a single model are in its own table.
    const bool with_errors =
        !report.beside.empty() && !role.is_reference && has_layer_errors(*role.network);
    networks.push_back({role, with_errors, report.beside.size() > 1});
  }
  if (networks.size() < 2) return "";
  std::vector<HtmlTable::Column> columns{{"layer", false}};
  for (const Adjacent& each : networks) each.add_columns(columns);
  HtmlTable table("The layers of the model and the same layers of the others", std::move(columns));
  for (std::size_t i = 0; i < report.model.layers.size(); ++i) {
    const LayerFigures& layer = report.model.layers[i];
    std::vector<Cell> row{layer_cell(report.model, i)};
    row.front().title.clear();  // as in the table of layers
    for (const Adjacent& each : networks) {
      const bool is_own = each.role.network == &report.model;
      each.add_cells(
          is_own ? &layer : counterpart_of(layer, *each.role.network, each.role.is_reference), row);
    }
    table.add_row(row, {"", heat_of(layer)});
  }
  const std::string fronts = report.beside.empty() ? "" : fronts_html(networks_of(report));
  return fronts + (table.empty() ? "" : table.html());
}

}  // namespace halftone::report::page
