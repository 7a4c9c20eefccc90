// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "halftone/report/explore.h"
#include "halftone/report/table.h"
#include "halftone/report/units.h"

namespace halftone::report {
namespace {

using Align = Table::Align;
using accel::Design;

constexpr std::size_t kMaxRows = 12;

std::string drop_text(double drop) { return fmt::format("{:.2f} %", 100 * drop); }
std::string area_text(double mm2) { return fmt::format("{:.4g} mm2", mm2); }

std::string search_heading(const ExploreReport& report) {
  const accel::Exploration& search = report.search;
  return fmt::format(
      "Search for the least {} of {}: {:.3g} designs, {} of {} hardware within the budget, {} "
      "layers.\nTime and energy are estimates by the {} model, not measurements. {}\n",
      to_string(report.options.objective), report.network, search.num_designs, search.num_within,
      search.num_hardware, search.layers.size(), to_string(report.options.model),
      report.comparison.empty() ? "No estimate was compared with this hardware."
                                : "Compared with this hardware: " + report.comparison + ".");
}

std::vector<std::string> costs_of(const Design& design) {
  return {time_text(design.seconds), energy_text(design.energy_j), area_text(design.area_mm2),
          fmt::format("{:.3g}", design.noise), drop_text(design.drop)};
}

std::string mean_bits(const Design& design) {
  double weights = 0;
  double inputs = 0;
  for (const accel::BitPair& pair : design.bits) {
    weights += pair.weights;
    inputs += pair.inputs;
  }
  const auto count = static_cast<double>(design.bits.size());
  return fmt::format("{:.1f} / {:.1f}", weights / count, inputs / count);
}

/// The best designs for some limits on the drop.
std::string front_table(const ExploreReport& report) {
  std::vector<const Design*> designs = report.search.ladder();
  const std::size_t num_best = designs.size();
  const double limit = 4 * report.options.budget.accuracy_drop;
  std::erase_if(designs, [limit](const Design* each) { return each->drop > limit; });
  Table table({{"time"}, {"energy"}, {"area"}, {"noise"}, {"predicted drop"}, {"mean bits"}});
  const std::size_t rows = std::min(kMaxRows, designs.size());
  for (std::size_t i = 0; i < rows; ++i) {
    const Design& design = *designs[rows < 2 ? 0 : i * (designs.size() - 1) / (rows - 1)];
    std::vector<std::string> cells = costs_of(design);
    cells.push_back(mean_bits(design));
    table.add_row(std::move(cells));
  }
  return fmt::format(
      "The front has {} designs; {} of them are the best for some limit on the drop. {} of those "
      "up to {}:\n\n{}",
      report.search.front.size(), num_best, rows, drop_text(limit), table.to_text());
}

std::string judged_text(const ExploreReport& report) {
  return fmt::format("losses are measured on {} others: {}", report.judged_samples,
                     report.judged_on);
}

std::string verified_table(const ExploreReport& report) {
  Table table({{"time"},
               {"energy"},
               {"area"},
               {"noise"},
               {"predicted drop"},
               {"measured drop"},
               {"measured noise"},
               {"", Align::kLeft}});
  for (std::size_t i = 0; i < report.verified.size(); ++i) {
    const VerifiedDesign& each = report.verified[i];
    std::vector<std::string> cells = costs_of(each.design);
    cells.push_back(drop_text(each.measured_drop));
    cells.push_back(fmt::format("{:.3g}", each.measured_noise));
    cells.push_back(i == report.chosen ? "chosen" : "");
    table.add_row(std::move(cells));
  }
  return fmt::format("Verified by quantizing. Fitted to {} samples; {}:\n\n", report.fit_samples,
                     judged_text(report)) +
         table.to_text();
}

std::string bits_table(const ExploreReport& report) {
  const Design& design = report.verified[report.chosen].design;
  Table table({{"layer", Align::kLeft}, {"weight bits"}, {"activation bits"}});
  for (std::size_t i = 0; i < design.bits.size(); ++i) {
    table.add_row({clipped(report.search.layers[i]), std::to_string(design.bits[i].weights),
                   std::to_string(design.bits[i].inputs)});
  }
  return table.to_text();
}

std::string chosen_text(const ExploreReport& report) {
  const VerifiedDesign& chosen = report.verified[report.chosen];
  std::string text = "Chosen: " + report.accelerator.name + "\n";
  for (const accel::Setting& each : report.settings) text += "  " + to_string(each) + "\n";
  text += "\n" + bits_table(report);
  text += fmt::format("\nestimate of the whole network: {}, {}, {}\n",
                      time_text(report.estimate.seconds), energy_text(report.estimate.energy_j),
                      area_text(report.accelerator.area_mm2));
  text += fmt::format("{} {}, standard error {} (predicted {}), budget {}{}\n{}\n",
                      report.has_labels ? "accuracy drop" : "samples of another class",
                      drop_text(chosen.measured_drop), drop_text(chosen.drop_standard_error),
                      drop_text(chosen.design.drop), drop_text(report.options.budget.accuracy_drop),
                      report.is_within ? "" : ": NOT kept by any design that was verified",
                      judged_text(report));
  const double least = drop_standard_error(0, report.judged_samples);
  if (!report.is_within && least > report.options.budget.accuracy_drop) {
    text += fmt::format("so few samples do not show a drop below {}: give more of them\n",
                        drop_text(least));
  }
  return text;
}

}  // namespace

std::string to_text(const ExploreReport& report) {
  return search_heading(report) + "\n" + front_table(report) + "\n" + verified_table(report) +
         "\n" + chosen_text(report);
}

}  // namespace halftone::report
