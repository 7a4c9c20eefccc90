// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "halftone/report/estimate.h"
#include "halftone/report/table.h"
#include "halftone/report/units.h"

namespace halftone::report {
namespace {

using Align = Table::Align;

std::string bytes_text(double bytes) { return format_bytes(static_cast<std::size_t>(bytes)); }

/// What every result says: that it is an estimate, and how far it was from real hardware.
std::string heading(const accel::Estimate& estimate) {
  const std::string chips =
      estimate.devices > 1 ? fmt::format(" x {}, {} split", estimate.devices, estimate.split) : "";
  return fmt::format(
      "Estimate, not a measurement: {} on {}{}, batch {}, by the {} model.\n{}\n",
      estimate.workload, estimate.accelerator, chips, estimate.batch, estimate.method,
      estimate.comparison.empty() ? "No estimate was compared with this hardware."
                                  : "Compared with this hardware: " + estimate.comparison + ".");
}

std::string operations_table(const accel::Estimate& estimate) {
  Table table({{"operation", Align::kLeft},
               {"operator", Align::kLeft},
               {"unit", Align::kLeft},
               {"products"},
               {"tiles"},
               {"time"},
               {"share"},
               {"bound by", Align::kLeft},
               {"use"},
               {"energy"}});
  for (const accel::OperationEstimate& each : estimate.operations) {
    table.add_row({clipped(each.name), each.op, each.unit, fmt::format("{:.0f}", each.products),
                   std::to_string(each.tiles), time_text(each.seconds),
                   fmt::format("{:.1f} %", 100 * each.seconds / estimate.seconds), each.bound,
                   each.products > 0 ? fmt::format("{:.1f} %", 100 * each.utilization) : "-",
                   energy_text(each.energy_j)});
  }
  return table.to_text();
}

std::string traffic_table(const accel::Estimate& estimate) {
  Table table({{"memory", Align::kLeft}, {"read"}, {"written"}, {"busy"}});
  for (std::size_t i = 0; i < estimate.memories.size(); ++i) {
    double read = 0;
    double written = 0;
    double seconds = 0;
    for (const accel::OperationEstimate& each : estimate.operations) {
      read += each.traffic[i].bytes_read;
      written += each.traffic[i].bytes_written;
      seconds += each.traffic[i].seconds;
    }
    table.add_row(
        {estimate.memories[i], bytes_text(read), bytes_text(written), time_text(seconds)});
  }
  return table.to_text();
}

/// No description has measured energies.
std::string energies_text(const accel::Estimate& estimate) {
  if (estimate.energy_j == 0) return "energy: the description has none\n";
  return fmt::format(
      "energy, a guess: {}, {:.3g} W; of them {} flow at idle, {} as leakage and clocks\n",
      energy_text(estimate.energy_j), estimate.watts(), energy_text(estimate.idle_j),
      energy_text(estimate.active_j));
}

std::string totals(const accel::Estimate& estimate) {
  double products = 0;
  for (const accel::OperationEstimate& each : estimate.operations) products += each.products;
  std::string text = fmt::format("time {}, {:.4g} products/s, {:.4g} samples/s\n",
                                 time_text(estimate.seconds), products / estimate.interval_s,
                                 static_cast<double>(estimate.batch) / estimate.interval_s) +
                     energies_text(estimate);
  if (estimate.host_s > 0) {
    text +=
        fmt::format("inputs from and outputs to the host: {} more\n", time_text(estimate.host_s));
  }
  const accel::Footprint& need = estimate.footprint;
  return text + fmt::format("memory {}: weights {}, activations {}, states {}, training {}\n",
                            bytes_text(need.total()), bytes_text(need.weights),
                            bytes_text(need.activations), bytes_text(need.states),
                            bytes_text(need.training));
}

std::string bounds_text(const accel::Estimate& estimate) {
  std::map<std::string, double> bounds;
  for (const accel::OperationEstimate& each : estimate.operations) {
    bounds[each.bound] += each.seconds;
  }
  std::string list;
  for (const auto& [name, seconds] : bounds) {
    list += fmt::format("{}{} {:.1f} %", list.empty() ? "" : ", ", name,
                        100 * seconds / estimate.seconds);
  }
  return list;
}

/// Operations of the same kind in all blocks, together.
std::string kinds_table(const accel::Estimate& estimate) {
  struct Kind {
    double seconds = 0;
    std::string bound;
  };
  std::vector<std::pair<std::string, Kind>> kinds;
  for (const accel::OperationEstimate& each : estimate.operations) {
    const bool in_block = each.name.rfind("block ", 0) == 0;
    const std::string name = in_block ? each.name.substr(each.name.find(' ', 6) + 1) : each.name;
    auto found = std::ranges::find(kinds, name, &std::pair<std::string, Kind>::first);
    if (found == kinds.end()) found = kinds.insert(found, {name, {}});
    found->second.seconds += each.seconds;
    found->second.bound = each.bound;
  }
  Table table({{"operation, of all blocks", Align::kLeft},
               {"time"},
               {"share"},
               {"bound by", Align::kLeft}});
  for (const auto& [name, kind] : kinds) {
    table.add_row({name, time_text(kind.seconds),
                   fmt::format("{:.1f} %", 100 * kind.seconds / estimate.seconds), kind.bound});
  }
  return table.to_text();
}

}  // namespace

std::string to_text(const accel::Estimate& estimate) {
  return heading(estimate) + "\n" + operations_table(estimate) + "\n" + traffic_table(estimate) +
         "\n" + totals(estimate) + "bound by " + bounds_text(estimate) + "\n";
}

std::string to_text(const v0::LanguageEstimate& estimate) {
  const auto sequences = static_cast<double>(estimate.token.batch);
  std::string text = heading(estimate.token) +
                     fmt::format(
                         "\n{:.4g} parameters, {:.4g} of them active; weights {}, activations {}, "
                         "cache {}\n\n",
                         estimate.parameters, estimate.active_parameters, estimate.weights,
                         estimate.activations, estimate.cache);
  text +=
      fmt::format("prompt of {} tokens: {}, {:.4g} tokens/s; bound by {}\n", estimate.prompt_tokens,
                  time_text(estimate.prompt.seconds),
                  sequences * static_cast<double>(estimate.prompt_tokens) / estimate.prompt.seconds,
                  bounds_text(estimate.prompt));
  text += fmt::format("token at context {}: {}, {:.4g} tokens/s; bound by {}\n\n",
                      estimate.context_tokens, time_text(estimate.token.seconds),
                      sequences / estimate.token.seconds, bounds_text(estimate.token));
  text += kinds_table(estimate.token) + "\n" + totals(estimate.token);
  text += fmt::format("devices needed: {}\n\n", estimate.devices_needed);
  Table table({{"batch"}, {"tokens/s"}, {"time of a token"}});
  for (const accel::BatchPoint& each : estimate.batches) {
    table.add_row({std::to_string(each.batch), fmt::format("{:.4g}", each.tokens_per_s()),
                   time_text(each.seconds)});
  }
  return text + table.to_text();
}

std::string to_text(const std::vector<accel::Executed>& executed) {
  Table table({{"operation", Align::kLeft},
               {"equal ones"},
               {"units"},
               {"tiles"},
               {"estimated"},
               {"moved"},
               {"product", Align::kLeft}});
  for (const accel::Executed& each : executed) {
    const bool ran = each.refusal.empty();
    table.add_row({clipped(each.name), std::to_string(each.equal), std::to_string(each.units),
                   std::to_string(each.steps), bytes_text(each.estimated_bytes),
                   ran ? bytes_text(each.moved_bytes) : "-",
                   ran ? "equal" : "not run: " + each.refusal});
  }
  return table.to_text();
}

}  // namespace halftone::report
