// SPDX-License-Identifier: Apache-2.0
// Summary, layers, two networks side by side, kernels.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "halftone/report/page/html.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/page/picture.h"
#include "halftone/report/table.h"
#include "halftone/report/units.h"

namespace halftone::report::page {
namespace {

/// The networks of a page, with what they are to it.
struct Role {
  const char* name;
  const NetworkFigures* network;
  bool is_reference = false;
};

std::vector<Role> roles_of(const ModelReport& report) {
  std::vector<Role> roles{{"model", &report.model}};
  if (report.beside) roles.push_back({"beside", &*report.beside});
  if (report.reference) roles.push_back({"reference", &*report.reference, true});
  return roles;
}

std::string percent(double share) { return format_number(100 * share, 2) + " %"; }

std::string decibels(double value) {
  return std::isinf(value) && value > 0 ? "exact" : format_number(value, 1) + " dB";
}

std::string listed_ports(const std::vector<PortInfo>& ports) {
  std::string list;
  for (const PortInfo& port : ports) {
    list += (list.empty() ? "" : "<br>") + markup(port.name) + ": " + markup(port.type.to_string());
  }
  return list;
}

std::string listed_operators(const Inspection& inspection) {
  std::string list;
  for (const auto& [name, count] : inspection.operators) {
    list += fmt::format("{}{} {}", list.empty() ? "" : ", ", count, name);
  }
  return markup(list);
}

/// A row of the summary: what it says of each network, as HTML.
struct SummaryRow {
  const char* heading;
  std::function<std::string(const NetworkFigures&)> cell;
};

std::string accuracy_of(const NetworkFigures& network) {
  const auto& found = network.evaluation;
  return found && found->metric == "accuracy" ? percent(found->value) : "";
}

std::string latency_of(const NetworkFigures& network) {
  if (!network.profile) return "";
  return fmt::format("{} (batch {}, {} thread{})", time_text(network.profile->median_us * 1e-6),
                     network.profile->batch, network.plan->options().threads,
                     network.plan->options().threads == 1 ? "" : "s");
}

const std::vector<SummaryRow>& summary_rows() {
  using Network = NetworkFigures;
  const auto compared = [](const Network& network, auto&& show) {
    return network.evaluation && network.evaluation->reference
               ? show(*network.evaluation->reference)
               : std::string();
  };
  static const std::vector<SummaryRow> rows{
      {"format", [](const Network& n) { return markup(n.inspection.format); }},
      {"file size", [](const Network& n) { return format_bytes(n.inspection.file_bytes); }},
      {"parameters", [](const Network& n) { return std::to_string(n.inspection.parameters); }},
      {"layers", [](const Network& n) { return std::to_string(n.layers.size()); }},
      {"accuracy", accuracy_of},
      {"same answer as the reference",
       [=](const Network& n) {
         return compared(n, [](const auto& c) { return percent(c.agreement); });
       }},
      {"output SQNR",
       [=](const Network& n) {
         return compared(n, [](const auto& c) { return decibels(c.sqnr_db); });
       }},
      {"KL divergence, nats",
       [=](const Network& n) {
         return compared(n, [](const auto& c) {
           return c.divergence ? format_number(*c.divergence, 5) : std::string();
         });
       }},
      {"median latency", latency_of},
      {"inputs", [](const Network& n) { return listed_ports(n.inspection.inputs); }},
      {"outputs", [](const Network& n) { return listed_ports(n.inspection.outputs); }},
      {"operators", [](const Network& n) { return listed_operators(n.inspection); }}};
  return rows;
}

/// What would show more.
std::string hints(const ModelReport& report) {
  std::string result;
  if (report.data.empty()) {
    result += note(
        "No samples were given. With --data, the page shows accuracy, activations and "
        "the worst samples.");
  } else if (!report.model.evaluation) {
    result += note(
        "The samples have no labels. With --reference, the page shows how far the "
        "answers are from those of the reference.");
  }
  if (!report.reference) {
    result += note(
        "No float network was given. With --reference and --data, the page shows the "
        "error of every layer.");
  }
  if (!report.model.profile) {
    result += note("No times were measured. With --time, the page shows those of every layer.");
  }
  for (const std::string& reason : report.missing) result += note(reason);
  return result;
}

Cell bits_cell(int bits) { return {bits_text(bits), bits}; }

Cell name_cell(const LayerFigures& layer) {
  return {
      markup(shown_name(layer)), {}, shown_name(layer) == layer.info.name ? "" : layer.info.name};
}

bool has_errors(const NetworkFigures& network) {
  return std::ranges::any_of(network.layers,
                             [](const LayerFigures& layer) { return layer.error.has_value(); });
}

std::string arithmetic_text(const LayerInfo& layer) {
  return layer.arithmetic ? std::string(to_string(*layer.arithmetic)) : "-";
}

constexpr const char* kAloneTitle =
    "Signal to quantization noise of the layer's output, in dB, if its input is that of the "
    "reference";
constexpr const char* kAccumulatedTitle =
    "Signal to quantization noise of the layer's output, in dB, after all layers before it";

/// The kernels that were not chosen.
std::string refusals_html(const runtime::Step& step) {
  if (step.refused.empty()) return "";
  std::string list;
  for (const runtime::Refusal& refusal : step.refused) {
    list += "<br>not " + markup(refusal.kernel) + ": " + markup(refusal.reason);
  }
  return "<details><summary>others</summary>" + list.substr(4) + "</details>";
}

/// Why a step is computed as it is.
std::string why_html(const runtime::Step& step) {
  const std::string slow = step.slow.empty() ? "" : "<br>" + markup(step.slow);
  return markup(step.reason) + slow + refusals_html(step);
}

/// The columns of the table of layers that depend on what was measured.
struct LayerColumns {
  bool has_errors = false;
  bool has_times = false;

  [[nodiscard]] std::vector<HtmlTable::Column> columns() const {
    std::vector<HtmlTable::Column> columns{
        {"layer", false}, {"operator", false},   {"system", false}, {"bits"},
        {"input bits"},   {"arithmetic", false}, {"bytes"}};
    if (has_errors) {
      columns.push_back({"weights dB", true, "Signal to quantization noise of the weights, in dB"});
      columns.push_back({"alone dB", true, kAloneTitle});
      columns.push_back({"accumulated dB", true, kAccumulatedTitle});
    }
    if (has_times) columns.push_back({"median us", true, "Time of a run, in microseconds"});
    columns.push_back({"kernel", false});
    columns.push_back({"why", false, "", true});
    return columns;
  }

  [[nodiscard]] std::vector<Cell> row(const NetworkFigures& network,
                                      const LayerFigures& layer) const {
    const LayerInfo& info = layer.info;
    Cell system = Cell::of(system_of(info));
    system.title = info.weights;
    std::vector<Cell> row{name_cell(layer),
                          Cell::of(info.op),
                          system,
                          bits_cell(info.weight_bits),
                          bits_cell(info.activation_bits),
                          Cell::of(arithmetic_text(info)),
                          Cell::bytes(info.weight_bytes)};
    if (has_errors) {
      row.push_back(Cell::number(layer.weight_sqnr_db, 1));
      row.push_back(Cell::number(alone_of(layer), 1));
      row.push_back(Cell::number(accumulated_of(layer), 1));
    }
    if (has_times) row.push_back(Cell::number(time_of(network, layer), 2));
    const runtime::Step* step = step_of(network, layer);
    row.push_back(Cell::of(step == nullptr ? "-" : step->kernel));
    row.push_back({step == nullptr ? "-" : why_html(*step)});
    return row;
  }
};

HtmlTable layers_table(const NetworkFigures& network) {
  const bool is_compared = std::ranges::any_of(
      network.layers, [](const LayerFigures& layer) { return !layer.reference_name.empty(); });
  const std::string caption = is_compared ? ", by their names in the reference" : "";
  const LayerColumns shown{has_errors(network), network.profile.has_value()};
  HtmlTable table("Layers with weights, in order of execution" + caption, shown.columns());
  for (const LayerFigures& layer : network.layers) table.add_row(shown.row(network, layer));
  return table;
}

/// The columns of a network in the table of several.
struct Adjacent {
  Role role;
  bool with_errors = false;

  void add_columns(std::vector<HtmlTable::Column>& columns) const {
    const std::string suffix = std::string(", ") + role.name;
    columns.push_back({"bits" + suffix});
    columns.push_back({"bytes" + suffix});
    if (with_errors) {
      columns.push_back({"alone dB" + suffix, true, kAloneTitle});
      columns.push_back({"accumulated dB" + suffix, true, kAccumulatedTitle});
    }
    if (role.network->profile) columns.push_back({"median us" + suffix});
  }

  void add_cells(const LayerFigures* layer, std::vector<Cell>& row) const {
    const Cell none{"-"};
    row.push_back(layer == nullptr ? none : bits_cell(layer->info.weight_bits));
    row.push_back(layer == nullptr ? none : Cell::bytes(layer->info.weight_bytes));
    if (with_errors) {
      row.push_back(layer == nullptr ? none : Cell::rounded(alone_of(*layer), 1));
      row.push_back(layer == nullptr ? none : Cell::rounded(accumulated_of(*layer), 1));
    }
    if (role.network->profile) {
      row.push_back(layer == nullptr ? none : Cell::rounded(time_of(*role.network, *layer), 2));
    }
  }
};

}  // namespace

const runtime::Step* step_of(const NetworkFigures& network, const LayerFigures& layer) {
  return layer.step && network.plan ? &network.plan->steps()[*layer.step] : nullptr;
}

std::optional<double> time_of(const NetworkFigures& network, const LayerFigures& layer) {
  if (!layer.step || !network.profile) return std::nullopt;
  return network.profile->step_median_us[*layer.step];
}

const LayerFigures* twin_of(const LayerFigures& layer, const NetworkFigures& network,
                            bool is_reference) {
  const auto is_twin = [&](const LayerFigures& other) {
    if (is_reference) return other.info.name == layer.reference_name;
    const bool same_original =
        !layer.reference_name.empty() && layer.reference_name == other.reference_name;
    return same_original || other.info.name == layer.info.name;
  };
  const auto found = std::ranges::find_if(network.layers, is_twin);
  return found == network.layers.end() ? nullptr : &*found;
}

const std::string& shown_name(const LayerFigures& layer) {
  return layer.reference_name.empty() ? layer.info.name : layer.reference_name;
}

std::optional<double> alone_of(const LayerFigures& layer) {
  return layer.error ? std::optional(layer.error->sqnr_alone_db) : std::nullopt;
}

std::optional<double> accumulated_of(const LayerFigures& layer) {
  return layer.error ? std::optional(layer.error->sqnr_db) : std::nullopt;
}

std::string bits_text(int bits) { return bits == 32 ? "float" : std::to_string(bits); }

std::string system_of(const LayerInfo& layer) {
  std::string system = layer.weights.substr(0, layer.weights.find_first_of("(["));
  // Weights that a node widens to float32.
  if (system != "float32" || layer.weight_bits == 32) return system;
  return layer.weight_bits == 16 ? "float16" : "int" + std::to_string(layer.weight_bits);
}

std::string summary_section(const ModelReport& report) {
  const std::vector<Role> roles = roles_of(report);
  std::string head = "<th scope=col>network</th>";
  for (const Role& role : roles) {
    head += fmt::format("<th scope=col>{}: {}</th>", role.name, markup(role.network->name));
  }
  std::string rows;
  for (const SummaryRow& row : summary_rows()) {
    std::string cells;
    bool has_content = false;
    for (const Role& role : roles) {
      const std::string cell = row.cell(*role.network);
      has_content = has_content || !cell.empty();
      cells += "<td>" + (cell.empty() ? "-" : cell) + "</td>";
    }
    if (has_content) rows += fmt::format("<tr><th scope=row>{}</th>{}</tr>\n", row.heading, cells);
  }
  const std::string samples = report.data.empty()
                                  ? ""
                                  : fmt::format("<p>Measured on {} samples of {}.</p>\n",
                                                report.num_samples, markup(report.data));
  return fmt::format(
      "<div class=scroll role=region tabindex=0 aria-label=Summary><table><caption>What the "
      "networks are and how they answer</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}"
      "</tbody></table></div>\n{}{}",
      head, rows, samples, hints(report));
}

std::string layers_section(const ModelReport& report) {
  const HtmlTable table = layers_table(report.model);
  return table.empty() ? note("The network has no layers with weights.") : table.html();
}

std::string beside_section(const ModelReport& report) {
  std::vector<Adjacent> networks;
  for (const Role& role : roles_of(report)) {
    // The errors of a single model are in its own table.
    const bool with_errors = report.beside && !role.is_reference && has_errors(*role.network);
    networks.push_back({role, with_errors});
  }
  if (networks.size() < 2) return "";
  std::vector<HtmlTable::Column> columns{{"layer", false}};
  for (const Adjacent& each : networks) each.add_columns(columns);
  HtmlTable table("The layers of the model and the same layers of the others", std::move(columns));
  for (const LayerFigures& layer : report.model.layers) {
    std::vector<Cell> row{name_cell(layer)};
    for (const Adjacent& each : networks) {
      const bool is_own = each.role.network == &report.model;
      each.add_cells(is_own ? &layer : twin_of(layer, *each.role.network, each.role.is_reference),
                     row);
    }
    table.add_row(row);
  }
  return table.empty() ? "" : table.html();
}

std::string steps_section(const NetworkFigures& model) {
  if (model.plan == nullptr) return "";
  std::set<std::size_t> of_layers;
  for (const LayerFigures& layer : model.layers) {
    if (layer.step) of_layers.insert(*layer.step);
  }
  std::vector<HtmlTable::Column> columns{{"step", false}, {"operator", false}, {"kernel", false}};
  if (model.profile) columns.push_back({"median us"});
  columns.push_back({"why", false, "", true});
  HtmlTable table("The steps of a run that are no layers with weights, in order of execution",
                  std::move(columns));
  for (std::size_t i = 0; i < model.plan->steps().size(); ++i) {
    if (of_layers.contains(i)) continue;
    const runtime::Step& step = model.plan->steps()[i];
    std::vector<Cell> row{Cell::of(step.name), Cell::of(step.op), Cell::of(step.kernel)};
    if (model.profile) row.push_back(Cell::number(model.profile->step_median_us[i], 2));
    row.push_back({why_html(step)});
    table.add_row(row);
  }
  return table.empty() ? "" : table.html();
}

}  // namespace halftone::report::page
