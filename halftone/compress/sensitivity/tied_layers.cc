// SPDX-License-Identifier: Apache-2.0
#include "halftone/compress/sensitivity/tied_layers.h"

#include <algorithm>

#include "halftone/ir/ops/traits.h"

namespace halftone::compress {
namespace {

/// What a layer may share: its weights, and the input it multiplies.
std::vector<ir::ValueId> shared_values(const ir::Graph& graph, ir::NodeId layer) {
  const ir::Node& node = graph.node(layer);
  std::vector<ir::ValueId> values = {node.inputs[weights_input(node.op)]};
  if (ir::is_layer(node.op)) values.push_back(node.inputs[0]);
  return values;
}

}  // namespace

std::vector<std::vector<std::size_t>> tied_layers(const ir::Graph& graph,
                                                  std::span<const ir::NodeId> layers) {
  struct Unit {
    std::vector<std::size_t> layers;
    std::vector<ir::ValueId> values;
  };
  std::vector<Unit> units;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    Unit merged{{i}, shared_values(graph, layers[i])};
    std::vector<Unit> others;
    for (Unit& unit : units) {
      const bool shares = std::ranges::any_of(
          merged.values, [&](ir::ValueId id) { return std::ranges::count(unit.values, id) > 0; });
      if (!shares) {
        others.push_back(std::move(unit));
        continue;
      }
      merged.layers.insert(merged.layers.begin(), unit.layers.begin(), unit.layers.end());
      merged.values.insert(merged.values.end(), unit.values.begin(), unit.values.end());
    }
    others.push_back(std::move(merged));
    units = std::move(others);
  }
  std::vector<std::vector<std::size_t>> result;
  for (Unit& unit : units) {
    std::ranges::sort(unit.layers);
    result.push_back(std::move(unit.layers));
  }
  std::ranges::sort(result);
  return result;
}

}  // namespace halftone::compress
