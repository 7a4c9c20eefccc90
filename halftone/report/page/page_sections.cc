// SPDX-License-Identifier: Apache-2.0
// Summary, networks, their layers side by side, kernels.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <set>

#include "halftone/report/page/drawing.h"
#include "halftone/report/page/html.h"
#include "halftone/report/page/page_parts.h"
#include "halftone/report/table.h"
#include "halftone/report/units.h"

namespace halftone::report::page {
namespace {

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
  using Figures = NetworkFigures;
  const auto compared = [](const Figures& network, auto&& show) {
    return network.evaluation && network.evaluation->reference
               ? show(*network.evaluation->reference)
               : std::string();
  };
  static const std::vector<SummaryRow> rows{
      {"format", [](const Figures& n) { return markup(n.inspection.format); }},
      {"file size", [](const Figures& n) { return format_bytes(n.inspection.file_bytes); }},
      {"parameters", [](const Figures& n) { return std::to_string(n.inspection.parameters); }},
      {"layers", [](const Figures& n) { return std::to_string(n.layers.size()); }},
      {"accuracy", accuracy_of},
      {"same answer as the reference",
       [=](const Figures& n) {
         return compared(n, [](const auto& c) { return percent(c.agreement); });
       }},
      {"output SQNR",
       [=](const Figures& n) {
         return compared(n, [](const auto& c) { return decibels(c.sqnr_db); });
       }},
      {"KL divergence, nats",
       [=](const Figures& n) {
         return compared(n, [](const auto& c) {
           return c.divergence ? format_number(*c.divergence, 5) : std::string();
         });
       }},
      {"median latency", latency_of},
      {"inputs", [](const Figures& n) { return listed_ports(n.inspection.inputs); }},
      {"outputs", [](const Figures& n) { return listed_ports(n.inspection.outputs); }},
      {"operators", [](const Figures& n) { return listed_operators(n.inspection); }}};
  return rows;
}

}  // namespace

std::vector<ShownNetwork> roles_of(const ModelReport& report) {
  std::vector<ShownNetwork> roles{{"model", &report.model}};
  for (std::size_t i = 0; i < report.beside.size(); ++i) {
    const std::string number = report.beside.size() > 1 ? fmt::format(" {}", i + 1) : "";
    roles.push_back({"beside" + number, &report.beside[i]});
  }
  if (report.reference) roles.push_back({"reference", &*report.reference, true});
  return roles;
}

const runtime::PlanStep* step_of(const NetworkFigures& network, const LayerFigures& layer) {
  return layer.step && network.plan ? &network.plan->steps()[*layer.step] : nullptr;
}

std::optional<double> time_of(const NetworkFigures& network, const LayerFigures& layer) {
  if (!layer.step || !network.profile) return std::nullopt;
  return network.profile->step_median_us[*layer.step];
}

std::optional<double> float_time_of(const ModelReport& report, const LayerFigures& layer) {
  if (!report.reference || !report.reference->profile) return std::nullopt;
  const LayerFigures* counterpart = counterpart_of(layer, *report.reference, true);
  return counterpart == nullptr ? std::nullopt : time_of(*report.reference, *counterpart);
}

bool is_slow(const ModelReport& report, const LayerFigures& layer) {
  constexpr double kNoise = 1.1;  // of times, of one layer
  const std::optional<double> in_float = float_time_of(report, layer);
  const std::optional<double> own = time_of(report.model, layer);
  return in_float && own && *own > kNoise * *in_float;
}

std::string class_name(const ModelReport& report, std::int64_t index) {
  const auto at = static_cast<std::size_t>(index);
  return at < report.classes.size() ? report.classes[at] : std::to_string(index);
}

const LayerFigures* counterpart_of(const LayerFigures& layer, const NetworkFigures& network,
                                   bool is_reference) {
  const auto is_counterpart = [&](const LayerFigures& other) {
    if (is_reference) return other.info.name == layer.reference_name;
    const bool same_original =
        !layer.reference_name.empty() && layer.reference_name == other.reference_name;
    return same_original || other.info.name == layer.info.name;
  };
  const auto found = std::ranges::find_if(network.layers, is_counterpart);
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

std::string system_of(const LayerInfo& layer) {
  std::string system = layer.weights.substr(0, layer.weights.find_first_of("(["));
  // Weights that a node widens to float32.
  if (system != "float32" || layer.weight_bits == 32) return system;
  return layer.weight_bits == 16 ? "float16" : "int" + bits_text(layer.weight_bits);
}

std::string networks_section(const ModelReport& report) {
  const std::vector<ShownNetwork> roles = roles_of(report);
  std::string head = "<th scope=col>network</th>";
  for (const ShownNetwork& role : roles) {
    head += fmt::format("<th scope=col>{}: {}</th>", role.name, markup(role.network->name));
  }
  std::string rows;
  for (const SummaryRow& row : summary_rows()) {
    std::string cells;
    bool has_content = false;
    for (const ShownNetwork& role : roles) {
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
      "<div class=scroll role=region tabindex=0 aria-label=Networks><table "
      "class=facts><caption>What the "
      "networks are and how they answer</caption>\n<thead><tr>{}</tr></thead>\n<tbody>\n{}"
      "</tbody></table></div>\n{}",
      head, rows, samples);
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
    const runtime::PlanStep& step = model.plan->steps()[i];
    std::vector<Cell> row{Cell::of(step.name), Cell::of(step.op), Cell::of(step.kernel)};
    if (model.profile) row.push_back(Cell::number(model.profile->step_median_us[i], 2));
    row.push_back({why_html(step)});
    table.add_row(row);
  }
  return table.empty() ? "" : table.html();
}

}  // namespace halftone::report::page
