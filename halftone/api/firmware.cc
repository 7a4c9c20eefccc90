// SPDX-License-Identifier: Apache-2.0
#include "halftone/api/firmware.h"

#include <algorithm>
#include <cstdint>
#include <utility>

#include "halftone/api/export_c.h"
#include "halftone/base/error.h"
#include "halftone/compress/rule_codes.h"
#include "halftone/passes/decode_codes.h"

namespace halftone {

v0::CExport as_c(ir::Graph graph, const Network& original, const std::string& core) {
  passes::restore_ends(graph, original.graph);
  v0::ExportCOptions options;
  options.core = core;
  return sizes_as_c(Network(std::move(graph), original.name), options);
}

namespace {

std::string whole(double bytes) { return std::to_string(static_cast<std::uint64_t>(bytes)); }

/// @throws Error kUnsupported if the arena is above the limit with each choice in all layers
void check_least_ram(const ir::Graph& graph, const Network& original,
                     const FirmwareLimits& firmware, const SearchedChoices& searched) {
  if (!firmware.ram) return;
  std::optional<v0::CExport> least;
  for (const compress::LayerChoice& each : searched.choices) {
    const compress::Recipe rules = with_choice(searched.recipe, each);
    v0::CExport sizes = as_c(compress::with_rule_codes(graph, rules), original, firmware.core);
    if (!least || sizes.arena_bytes < least->arena_bytes) least = std::move(sizes);
  }
  if (!least || static_cast<double>(least->arena_bytes) <= *firmware.ram) return;
  const auto most = std::ranges::max_element(least->layers, {}, &v0::CLayer::ram_bytes);
  fail(ErrorKind::kUnsupported,
       "budget ram=" + whole(*firmware.ram) + " cannot be met with these choices: the least is " +
           std::to_string(least->arena_bytes) + ", most at '" + most->name + "'");
}

/// Layers of one name count for the first.
compress::RunCosts counted_costs(const ir::Graph& graph, const Network& original,
                                 const std::vector<std::string>& layers,
                                 const FirmwareLimits& firmware) {
  const v0::CExport counted = as_c(graph, original, firmware.core);
  compress::RunCosts costs;
  costs.instructions = static_cast<double>(counted.instructions);
  costs.layer_instructions.assign(layers.size(), 0);
  for (const v0::CLayer& each : counted.layers) {
    const auto layer = std::ranges::find_if(layers, [&](const std::string& name) {
      return each.name == name || each.name == name + "/encode";
    });
    if (layer == layers.end()) continue;
    costs.layer_instructions[static_cast<std::size_t>(layer - layers.begin())] +=
        static_cast<double>(each.instructions);
  }
  if (!firmware.instruction_pj) return costs;
  costs.pj = *firmware.instruction_pj * costs.instructions;
  for (const double each : costs.layer_instructions) {
    costs.layer_pj.push_back(*firmware.instruction_pj * each);
  }
  return costs;
}

}  // namespace

void check_ram(const ir::Graph& found, const Network& original, const FirmwareLimits& firmware) {
  if (!firmware.ram) return;
  const std::size_t bytes = as_c(found, original, firmware.core).arena_bytes;
  if (static_cast<double>(bytes) <= *firmware.ram) return;
  fail(ErrorKind::kUnsupported, "budget ram=" + whole(*firmware.ram) +
                                    ": the network that was found takes " + std::to_string(bytes) +
                                    ": offer fewer bits for inputs");
}

void count_instructions(compress::MeasureSettings& options, const Network& original,
                        const FirmwareLimits& firmware) {
  options.costs_name += " instructions of " + firmware.core + ", picojoules of each " +
                        std::to_string(firmware.instruction_pj.value_or(0));
  options.costs = [measured = options.costs, &original, firmware](
                      const ir::Graph& graph, const std::vector<std::string>& layers) {
    compress::RunCosts costs = counted_costs(graph, original, layers, firmware);
    if (!measured) return costs;
    compress::RunCosts others = measured(graph, layers);
    others.layer_instructions = std::move(costs.layer_instructions);
    others.instructions = costs.instructions;
    if (!firmware.instruction_pj) return others;
    others.layer_pj = std::move(costs.layer_pj);
    others.pj = costs.pj;
    return others;
  };
}

void add_limits(compress::SearchOptions& options, const ir::Graph& graph, const Network& original,
                const FirmwareLimits& firmware, const SearchedChoices& searched) {
  if (firmware.ram) {
    options.peak = [&](const ir::Graph& result) {
      return static_cast<double>(as_c(result, original, firmware.core).arena_bytes);
    };
    options.peak_limit = *firmware.ram;
    check_least_ram(graph, original, firmware, searched);
  }
  if (!firmware.counts()) return;
  options.rule_costs = [&](const ir::Graph& result, const std::vector<std::string>& layers) {
    return counted_costs(result, original, layers, firmware);
  };
}

}  // namespace halftone
